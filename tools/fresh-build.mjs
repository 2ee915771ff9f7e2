/**
 * Builds the shop into `dist` for `npm start`, when its sources are not those of the last build. Types are
 * not checked, which takes most of the time of `npm run build`: a second instead of eight.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DIST = join(ROOT, 'dist');
/** What was built, and nothing while something is being built: written last, taken away first. */
const STAMP = join(DIST, '.fresh-build');

const COMPILED = ['src', 'migrations'];
/** How it is built, and on what. */
const BESIDE = [
  'package-lock.json',
  'tsconfig.json',
  'tools/fresh-build.mjs',
  'tools/swc-options.mjs',
];

/** The pages have a bundler of their own. */
const PAGES = ['src/shop/page', 'src/delay-queue/dashboard/page', 'src/ui'].map((name) =>
  join(ROOT, name, sep),
);

/** What that bundler writes beside the sources of the library, too. */
const PAGE_ASSETS = join('src', 'delay-queue', 'dashboard', 'page-assets.js');

async function filesIn(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/**
 * Not by what is newer: a file that was put back is older than the build, and one that was changed while it
 * was built may be.
 */
async function fingerprintOf(files) {
  const lines = files.toSorted().map(async (file) => {
    const found = await stat(file).catch(() => undefined);
    return `${relative(ROOT, file)} ${found?.mtimeMs} ${found?.size}\n`;
  });
  const hash = createHash('sha256');
  for (const line of await Promise.all(lines)) hash.update(line);
  return hash.digest('hex');
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

/** Of sources that are there no more: what still imports them must fail, as it will for everybody else. */
async function removeLeftOvers() {
  const folders = COMPILED.map((name) => join(DIST, name));
  for (const built of (await Promise.all(folders.map(filesIn))).flat()) {
    if (!built.endsWith('.js') || built.endsWith(PAGE_ASSETS)) continue;
    const source = join(ROOT, relative(DIST, built)).replace(/\.js$/, '.ts');
    if (!(await stat(source).catch(() => undefined))) await rm(built, { force: true });
  }
}

async function build() {
  const sources = (await Promise.all(COMPILED.map((name) => filesIn(join(ROOT, name))))).flat();
  const compiled = sources.filter((path) => !path.endsWith(PAGE_ASSETS));
  const bundler = await filesIn(join(ROOT, 'tools', 'page'));
  const beside = BESIDE.map((name) => join(ROOT, name));
  const fingerprint = await fingerprintOf([...compiled, ...bundler, ...beside]);
  if ((await readFile(STAMP, 'utf8').catch(() => '')) === fingerprint) return;
  console.log('Building the shop');
  await rm(STAMP, { force: true });
  const ours = compiled.filter(
    (path) => path.endsWith('.ts') && !PAGES.some((page) => path.startsWith(page)),
  );
  const { buildDashboard, buildPage } = await import('./page/build.mjs');
  await Promise.all([compile(ours), buildPage(), buildDashboard()]);
  await removeLeftOvers();
  await put(STAMP, fingerprint);
}

function trouble(error) {
  if (['EACCES', 'EROFS', 'EPERM'].includes(error.code)) {
    return `${DIST} is not writable. Start from a folder of yours`;
  }
  if (error.code === 'ERR_MODULE_NOT_FOUND') {
    return `${error.message}\nnpm ci installs what it is built with`;
  }
  // A compiler names the file and the line. What swc adds is where in swc.
  return error.message.split(/\n\s*Caused by:/)[0].trim();
}

try {
  await build();
} catch (error) {
  console.error(`The shop cannot be built: ${trouble(error)}`);
  process.exitCode = 1;
}
