import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { themeCss } from "./src/theme/css.ts";

/** Serves the theme's variables as a stylesheet, so that no style is injected at run time and the CSP stays strict. */
function themeStylesheet(): Plugin {
  const id = "virtual:theme.css";
  return {
    name: "theme-stylesheet",
    resolveId: (source) => (source === id ? `\0${id}` : null),
    load: (resolved) => (resolved === `\0${id}` ? themeCss() : null),
  };
}

const server = process.env.PILOTHOUSE_SERVER ?? "http://127.0.0.1:7420";

export default defineConfig({
  plugins: [react(), themeStylesheet()],
  build: {
    outDir: "../src/pilothouse/server/page",
    emptyOutDir: true,
    target: "es2022",
    // A data: URL in a stylesheet or script would be one more thing for the CSP to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  worker: { format: "es" },
  server: { proxy: { "/api": { target: server, ws: true } } },
  test: { include: ["tests/**/*.test.{ts,tsx}"], environment: "node" },
});
