import { convertCssVariables, defaultCssVariablesResolver, mergeMantineTheme, DEFAULT_THEME } from "@mantine/core";
import { theme } from "./theme.ts";

/** Return the theme's CSS variables for both colour schemes, as text of a stylesheet. */
export function themeCss(): string {
  const whole = mergeMantineTheme(DEFAULT_THEME, theme);
  return convertCssVariables(defaultCssVariablesResolver(whole), ":root");
}
