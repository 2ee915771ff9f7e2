/**
 * Runs the project's TypeScript as it is: `node --import ./tools/swc-loader.mjs file.ts`.
 *
 * For test fixtures in processes of their own, and for `bench/`. Node 20 cannot strip types, and no
 * Node compiles decorators. Types are not checked here; `npm run typecheck` does that.
 */
import { existsSync, readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { compiled } from './compiled.mjs';
import { bundledUrl } from './dependencies.mjs';
import { patchSource } from './source-patches.mjs';
import { stackParent } from './stack.mjs';

const inLibrary = (file) => new URL(`../src/delay-queue/${file}`, import.meta.url).href;

/** What the package exports. */
const LIBRARY = new Map([
  ['nestjs-delay-queue', inLibrary('index.ts')],
  ['nestjs-delay-queue/testing', inLibrary('testing/index.ts')],
  ['nestjs-delay-queue/opentelemetry', inLibrary('opentelemetry/index.ts')],
  ['nestjs-delay-queue/adapters', inLibrary('adapters/index.ts')],
  ['nestjs-delay-queue/dashboard', inLibrary('dashboard/index.ts')],
]);

/** Imports end in `.js`, as Node wants them; not yet compiled, the file beside is `.ts`. */
function sourceOf(specifier, { parentURL: parentUrl, conditions }) {
  // `require` takes no URL. Only newer Nodes ask for it here.
  const bundled = conditions.includes('import') ? bundledUrl(specifier) : undefined;
  const ours = LIBRARY.get(specifier) ?? bundled;
  if (ours !== undefined) return ours;
  if (!/^(\.{0,2}\/|file:).*\.js$/.test(specifier)) return specifier;
  const url = new URL(specifier, parentUrl);
  if (url.pathname.includes('/node_modules/') || existsSync(url)) return specifier;
  const source = new URL(url.href.replace(/\.js$/, '.ts'));
  return existsSync(source) ? source.href : specifier;
}

export function resolve(specifier, context, nextResolve) {
  const parentURL = stackParent(specifier, context.parentURL);
  return nextResolve(sourceOf(specifier, context), { ...context, parentURL });
}

export function load(url, context, nextLoad) {
  if (!url.endsWith('.ts') || url.includes('/node_modules/')) return nextLoad(url, context);
  const filename = fileURLToPath(url);
  const source = compiled(patchSource(readFileSync(filename, 'utf8'), filename), filename);
  return { format: 'module', source, shortCircuit: true };
}

// Off the main thread this file is loaded once more, for its hooks.
if (isMainThread) {
  process.setSourceMapsEnabled(true);
  // Hooks on the same thread are newer than Node 20.
  if (nodeModule.registerHooks) nodeModule.registerHooks({ resolve, load });
  else nodeModule.register(import.meta.url);
}
