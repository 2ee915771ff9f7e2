/**
 * Builds the shop into `dist` for `npm start`, when something in it is older than its sources. Types are
 * not checked, which takes most of the time of `npm run build`: a second instead of eight.
 */
import { mkdir, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
/** Written last: what is older than its sources, or has none, is built. */
const STAMP = join(DIST, '.fresh-build');

/** The page has a bundler of its own. */
const PAGE = join(ROOT, 'src', 'shop', 'page');

/** Files and folders: a folder is newer when something was taken out of it. */
async function everythingIn(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return [folder, ...entries.map((entry) => join(entry.parentPath ?? entry.path, entry.name))];
}

async function changedAtMs(path) {
  const found = await stat(path).catch(() => undefined);
  return found?.mtimeMs ?? 0;
}

async function isFresh(sources) {
  const builtAtMs = await changedAtMs(STAMP);
  const newest = await Promise.all(sources.map(changedAtMs));
  return newest.every((atMs) => atMs < builtAtMs);
}

/** At once in its place: another `npm start` may be reading the old one. */
async function put(file, text) {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.new-${process.pid}`, text);
  await rename(`${file}.new-${process.pid}`, file);
}

async function compile(files) {
  const { transformFile } = await import('@swc/core');
  const { SWC_OPTIONS } = await import('./swc-options.mjs');
  await Promise.all(
    files.map(async (file) => {
      const { code } = await transformFile(file, { ...SWC_OPTIONS, swcrc: false });
      await put(join(DIST, relative(ROOT, file)).replace(/\.ts$/, '.js'), code);
    }),
  );
}

async function bundlePage() {
  const bundler = await import('./page/build.mjs').catch((error) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  });
  await bundler?.buildPage();
}

async function build() {
  const folders = ['src', 'migrations', join('tools', 'page')].map((name) => join(ROOT, name));
  const found = await Promise.all(folders.map((folder) => everythingIn(folder).catch(() => [])));
  const sources = [
    ...found.flat(),
    fileURLToPath(import.meta.url),
    join(ROOT, 'package-lock.json'),
  ];
  if (await isFresh(sources)) return;
  console.log('Building the shop');
  const ours = [...found[0], ...found[1]].filter(
    (path) => path.endsWith('.ts') && !path.startsWith(PAGE),
  );
  await Promise.all([compile(ours), bundlePage()]);
  await put(STAMP, '');
}

try {
  await build();
} catch (error) {
  if (['EACCES', 'EROFS', 'EPERM'].includes(error.code)) {
    console.error(
      `The shop cannot be built: ${DIST} is not writable. Start from a folder of yours`,
    );
  } else {
    console.error(error);
  }
  process.exitCode = 1;
}
