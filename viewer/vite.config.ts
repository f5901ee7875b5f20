import { defineConfig } from "vite";

/** Builds the page into the Python package. The page's policy allows nothing inline, so no file becomes a `data:` URL. */
export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../ray_gym/viewer/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    target: "es2022",
    chunkSizeWarningLimit: 400,
  },
});
