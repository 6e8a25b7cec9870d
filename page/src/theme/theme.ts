import { createTheme, type MantineColorsTuple } from "@mantine/core";

/** The accent: sea blue. Shade 8 carries white text at AA in both colour schemes. */
const sea: MantineColorsTuple = [
  "#e8f6f8",
  "#d5eaee",
  "#abd4dc",
  "#7dbdca",
  "#58aabb",
  "#3f9eb1",
  "#2f97ac",
  "#1d8397",
  "#0c6b7d",
  "#0b5563",
];

/** Greys of the dark scheme, a little blue like everything else here. */
const dark: MantineColorsTuple = [
  "#dde4e8",
  "#b8c2c8",
  "#9aa7af",
  "#87949c",
  "#2f383e",
  "#262e33",
  "#1c2226",
  "#15191c",
  "#101416",
  "#0b0e10",
];

const textFonts =
  '"Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", Cantarell, Arial, sans-serif';
const monospaceFonts =
  'ui-monospace, "Cascadia Mono", "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace';

/** One theme for the whole page; its variables become a stylesheet when the page is built. */
export const theme = createTheme({
  colors: { sea, dark },
  primaryColor: "sea",
  // The defaults of the library fail AA contrast.
  primaryShade: { light: 8, dark: 8 },
  fontFamily: textFonts,
  fontFamilyMonospace: monospaceFonts,
  fontSizes: { xs: "0.75rem", sm: "0.875rem", md: "0.9375rem", lg: "1.0625rem", xl: "1.25rem" },
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  autoContrast: true,
  components: {
    // Locking the scroll injects a <style> element, which the CSP refuses.
    Modal: {
      defaultProps: { lockScroll: false, transitionProps: { duration: 120 }, closeButtonProps: { "aria-label": "Close" } },
    },
    Drawer: { defaultProps: { lockScroll: false, transitionProps: { duration: 120 } } },
    DrawerRoot: { defaultProps: { lockScroll: false, transitionProps: { duration: 120 } } },
    // The placeholder that takes the first focus is no menu item, which a menu may not contain.
    Menu: { defaultProps: { transitionProps: { duration: 80 }, withInitialFocusPlaceholder: false } },
    Popover: { defaultProps: { transitionProps: { duration: 80 } } },
    Tooltip: { defaultProps: { openDelay: 400, transitionProps: { duration: 80 } } },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Dismiss" } } },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray" } },
  },
});
