import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { build } from 'esbuild';
import { rolldown } from 'rolldown';

const PROGRAMS = ['main', 'dashboard', 'error-names', 'order-timers.spec'];
const sources = PROGRAMS.map((program) => [program, `src/${program}.ts`]);

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

const withEsbuild = (bundle, options) =>
  build({
    entryPoints: Object.fromEntries(sources),
    outdir: `out/${bundle}`,
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
    plugins: [optionalPackages],
    logLevel: 'error',
    ...options,
  });

const isThere = (path) => {
  try {
    return createRequire(import.meta.url).resolve(path) !== '';
  } catch {
    return false;
  }
};

async function withRolldown(bundle) {
  const made = await rolldown({
    input: Object.fromEntries(sources),
    platform: 'node',
    tsconfig: 'tsconfig.json',
    // The same packages; the helpers of its own compiler are no package.
    external: (path) =>
      !/^(?:[./\0]|src\/|@oxc-project\/|nestjs-delay-queue)/.test(path) && !isThere(path),
  });
  await made.write({
    dir: `out/${bundle}`,
    format: 'esm',
    minify: true,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
}

await withEsbuild('esbuild-keeping-names', { keepNames: true });
await withEsbuild('esbuild-splitting', { splitting: true });
await withEsbuild('esbuild-commonjs', {
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
  define: { 'import.meta.url': 'moduleUrl' },
  banner: { js: "const moduleUrl = require('node:url').pathToFileURL(__filename).href;" },
});
await withRolldown('rolldown');
// What runs is the bundle alone.
rmSync('node_modules', { recursive: true });
