import { rmSync } from 'node:fs';
import { build } from 'esbuild';

/** Nest and TypeORM ask for many packages that an application may do without. */
const optionalPackages = {
  name: 'optional-packages',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, async ({ path, kind, importer, resolveDir, pluginData }) => {
      if (pluginData === 'asked') return undefined;
      const asked = await resolve(path, { kind, importer, resolveDir, pluginData: 'asked' });
      return asked.errors.length > 0 ? { path, external: true } : asked;
    });
  },
};

await build({
  entryPoints: ['src/main.ts', 'src/order-timers.spec.ts'],
  outdir: 'out',
  bundle: true,
  platform: 'node',
  // Nest 12 reads import.meta.url, and what is CommonJS among the packages asks for require.
  format: 'esm',
  outExtension: { '.js': '.mjs' },
  banner: {
    js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
  },
  target: 'node20',
  minify: true,
  keepNames: true,
  plugins: [optionalPackages],
  logLevel: 'error',
});
// What runs is the bundle alone.
rmSync('node_modules', { recursive: true });
