/**
 * The dependencies in a few files, for Jest and for the processes that tests start with `swc-loader.mjs`. Chaos and
 * benchmarks take the packages as they are: a cold process there has to be as cold as a user's.
 *
 * Nest, TypeORM and what they import are 1,300 modules. Node 20 resolves each of them by a message to the thread of
 * the loader's hooks: a process took 2.2 s of a processor for that before its first line, and takes 0.4 s with the
 * bundle. The gate starts some hundred processes. A file of tests, whose modules Jest loads anew, takes 0.16 s less.
 * What users install is tested unbundled by `npm run test:apps`.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const CACHE = join(ROOT, 'node_modules/.cache/dependencies');

/** All that import each other: of none may there be a second copy beside the bundle. */
const PACKAGES = [
  '@nestjs-cls/transactional',
  '@nestjs-cls/transactional-adapter-typeorm',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@nestjs/schedule',
  '@nestjs/swagger',
  '@nestjs/testing',
  '@nestjs/typeorm',
  'croner',
  'express',
  'ms',
  'nestjs-cls',
  'reflect-metadata',
  'rxjs',
  'typeorm',
  'typeorm-transactional',
  'zod',
];

/** Loaded by name at run time: TypeORM's driver, and the files of a page. */
const EXTERNAL = ['pg', 'swagger-ui-dist'];

const key = createHash('sha256')
  .update(readFileSync(join(ROOT, 'package-lock.json')))
  .update(readFileSync(fileURLToPath(import.meta.url)))
  .digest('hex')
  .slice(0, 16);
const FOLDER = join(CACHE, key);

const fileOf = (name) => `${name.replace('/', '+')}.mjs`;

/** Set by the global setup of the tests, for Jest's resolver, its workers and what they start. */
const used = process.env.DELAY_QUEUE_BUNDLE;
const urls = new Map(
  used ? PACKAGES.map((name) => [name, pathToFileURL(join(used, fileOf(name))).href]) : [],
);

/** @returns the URL of that package in the bundle; undefined: it is not there, or no bundle is used */
export const bundledUrl = (specifier) => urls.get(specifier);

/** Builds the bundle, unless it is there. @returns its folder; undefined: another stack is tested */
export async function bundleDependencies() {
  if (process.env.DELAY_QUEUE_STACK !== undefined) return undefined;
  if (!existsSync(FOLDER)) await build();
  return FOLDER;
}

async function build() {
  const { build: bundle } = await import('esbuild');
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'new-'));
  try {
    const contents = new Map();
    for (const name of PACKAGES) contents.set(fileOf(name), await entryOf(name));
    await bundle({
      entryPoints: [...contents.keys()].map((file) => ({
        in: `entry:${file}`,
        out: file.slice(0, -4),
      })),
      outdir: folder,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      keepNames: true,
      // Comments go: an `import(…)` in one of zod's kept it out of the cache of `compiled-modules.ts`.
      minifyWhitespace: true,
      lineLimit: 160,
      legalComments: 'none',
      logLevel: 'error',
      banner: {
        js: "import { createRequire as $createRequire } from 'node:module'; const require = $createRequire(import.meta.url);",
      },
      plugins: [{ name: 'entries', setup: (it) => resolveEntries(it, contents) }],
    });
    renameSync(folder, FOLDER);
    // Those of other lock files: each has 5 MB.
    for (const other of readdirSync(CACHE)) {
      if (other !== key) rmSync(join(CACHE, other), { recursive: true, force: true });
    }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    // Another process was first.
    if (!existsSync(FOLDER)) throw error;
  }
}

/** A module that exports whatever the package does, also where that is CommonJS. */
async function entryOf(name) {
  const names = Object.keys(await import(name)).filter((each) => /^[\w$]+$/.test(each));
  return names.length === 0
    ? `import '${name}';`
    : `export { ${names.join(', ')} } from '${name}';`;
}

function resolveEntries(it, contents) {
  it.onResolve({ filter: /^entry:/ }, ({ path }) => ({ path, namespace: 'entry' }));
  it.onLoad({ filter: /./, namespace: 'entry' }, ({ path }) => ({
    contents: contents.get(path.slice('entry:'.length)),
    resolveDir: ROOT,
  }));
  // Asks Node for a second TypeORM: esbuild only sees the require of its own scope.
  it.onLoad({ filter: /typeorm-compat\.js$/ }, ({ path }) => ({
    contents: readFileSync(path, 'utf8').replace(/^const require = .*$/m, ''),
    resolveDir: dirname(path),
  }));
  it.onResolve({ filter: /^[^./]/ }, async ({ path, resolveDir, kind, pluginData }) => {
    if (pluginData === 'seen' || path.startsWith('entry:')) return undefined;
    const name = path.split('/', path.startsWith('@') ? 2 : 1).join('/');
    if (EXTERNAL.includes(name)) return { path, external: true };
    const found = await it.resolve(path, { resolveDir, kind, pluginData: 'seen' });
    // Drivers of other databases, and other optional peers.
    return found.errors.length > 0 ? { path, external: true } : found;
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(`${await bundleDependencies()}\n`);
}
