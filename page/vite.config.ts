import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
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

/** Takes the inline styles out of the terminal, which the CSP refuses; a version that has others does not build. */
function terminalStyles(): Plugin {
  const ours = fileURLToPath(new URL("./src/terminal/styles.ts", import.meta.url));
  return {
    name: "terminal-styles",
    transform(code, id) {
      if (!/@xterm\/xterm\/lib\/xterm\.m?js$/.test(id)) return null;
      const found = { elements: 0, attributes: 0 };
      const changed = code
        .replace(/[\w.]+\.createElement\("style"\)/g, () => ((found.elements += 1), "styleElement()"))
        .replace(/(\w+)\.setAttribute\("style",/g, (_, element: string) => ((found.attributes += 1), `setStyle(${element},`));
      if (found.elements !== 3 || found.attributes !== 1) this.error(`The terminal's styles changed: ${JSON.stringify(found)}.`);
      return { code: `import { setStyle, styleElement } from ${JSON.stringify(ours)};\n${changed}`, map: null };
    },
  };
}

/** Puts every file that shrinks beside itself in compressed form: the server only picks what a browser takes. */
function compressed(): Plugin {
  let folder = "";
  return {
    name: "compressed",
    apply: "build",
    configResolved: (config) => void (folder = fileURLToPath(new URL(`${config.build.outDir}/`, import.meta.url))),
    closeBundle: () => {
      for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue;
        const content = readFileSync(join(folder, name));
        const gzip = gzipSync(content, { level: 9 });
        // The best would take ten times as long, for a twentieth less.
        const brotli = brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });
        if (gzip.length < content.length) writeFileSync(join(folder, `${name}.gz`), gzip);
        if (brotli.length < content.length) writeFileSync(join(folder, `${name}.br`), brotli);
      }
    },
  };
}

const server = process.env.PILOTHOUSE_SERVER ?? "http://127.0.0.1:7420";

export default defineConfig({
  plugins: [react(), themeStylesheet(), terminalStyles(), compressed()],
  build: {
    outDir: "../src/pilothouse/web/page",
    emptyOutDir: true,
    target: "es2022",
    // A data: URL in a stylesheet or script would be one more thing for the CSP to allow.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1100,
    // What every visit begins with comes in one script: forty small ones took a fifteenth more of the processor.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: "start", tags: ["$initial"] }] } } },
  },
  worker: { format: "es" },
  // What is bundled beforehand passes by the plugins.
  optimizeDeps: { exclude: ["@xterm/xterm"] },
  server: { proxy: { "/api": { target: server, ws: true } } },
  test: {
    testTimeout: 30_000,
    // A tag names the row that a test proves; which rows there are, scripts/checklist knows.
    strictTags: false,
    cache: false,
    // How much of the document is shown when something is not found in it.
    env: { DEBUG_PRINT_LIMIT: "3000" },
    projects: [
      { extends: true, test: { name: "units", include: ["tests/*.test.{ts,tsx}"], environment: "node" } },
      {
        extends: true,
        test: {
          name: "components",
          include: ["tests/components/*.test.tsx"],
          environment: "happy-dom",
          environmentOptions: { happyDOM: { url: "http://127.0.0.1:7420/" } },
          setupFiles: ["tests/support/setup.ts"],
          testTimeout: 60_000,
          // The page is imported once for all of them; one after the other, always in the same order.
          isolate: false,
          fileParallelism: false,
        },
      },
    ],
  },
});
