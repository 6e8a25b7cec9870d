import type { ITheme } from "@xterm/xterm";

const light: ITheme = {
  background: "#ffffff",
  foreground: "#1b2327",
  cursor: "#0c6b7d",
  cursorAccent: "#ffffff",
  selectionBackground: "#bcdde4",
  black: "#1b2327",
  red: "#b42318",
  green: "#1a7a45",
  yellow: "#8a5a00",
  blue: "#0b5cad",
  magenta: "#8250a8",
  cyan: "#0c6b7d",
  white: "#566269",
  brightBlack: "#69757c",
  brightRed: "#c4372b",
  brightGreen: "#1f7f4b",
  brightYellow: "#946200",
  brightBlue: "#2468b4",
  brightMagenta: "#8d5cb3",
  brightCyan: "#15768a",
  brightWhite: "#3c474d",
};

const dark: ITheme = {
  background: "#15191c",
  foreground: "#dde4e8",
  cursor: "#7dbdca",
  cursorAccent: "#15191c",
  selectionBackground: "#2b4a52",
  black: "#39434a",
  red: "#ff9a8f",
  green: "#7fce9f",
  yellow: "#e6bb62",
  blue: "#8fc1f5",
  magenta: "#c9a3ec",
  cyan: "#7dbdca",
  white: "#b8c2c8",
  brightBlack: "#87949c",
  brightRed: "#ffb3aa",
  brightGreen: "#a0dcb8",
  brightYellow: "#f0cd85",
  brightBlue: "#aed2f8",
  brightMagenta: "#d8bdf2",
  brightCyan: "#a1d0da",
  brightWhite: "#f2f5f7",
};

/** The colours of the page, in a terminal. */
export const palettes = { light, dark };
