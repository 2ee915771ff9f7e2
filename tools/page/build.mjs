/**
 * Bundles the two pages, as a part of `npm run build`, and of `npm start` when a source is newer:
 *
 * - the shop's at `/` into `dist/page`: `index.html`, and assets whose names change with their content;
 * - the dashboard's into a module beside the library's code, so that a bundler takes it along.
 */
import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = join(ROOT, 'src', 'shop', 'page');
const TARGET = join(ROOT, 'dist', 'page');

const DASHBOARD = join('src', 'delay-queue', 'dashboard');
const ASSETS = 'page-assets.js';

/** What somebody else is writing just now. */
const UNFINISHED = /\.new-\d+$/;

const BROWSERS = ['es2022', 'chrome110', 'firefox115', 'safari16.4'];

const bundle = async (folder, options) => {
  const { outputFiles } = await build({
    entryPoints: [join(folder, 'main.tsx'), join(folder, 'page.css')],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: BROWSERS,
    tsconfig: join(folder, 'tsconfig.json'),
    logLevel: 'silent',
    ...options,
  });
  return outputFiles;
};

/** @returns what was written: paths below `dist/page`, and their bytes */
export async function buildPage() {
  const outputFiles = await bundle(SOURCES, {
    outdir: join(TARGET, 'assets'),
    entryNames: '[name].[hash]',
  });
  const asset = (extension) => {
    const { path } = outputFiles.find((file) => file.path.endsWith(extension));
    return `/assets/${basename(path)}`;
  };
  const template = await readFile(join(SOURCES, 'index.html'), 'utf8');
  const html = template.replace('/main.tsx', asset('.js')).replace('/page.css', asset('.css'));
  await mkdir(join(TARGET, 'assets'), { recursive: true });
  for (const { path, contents } of outputFiles) await put(path, contents);
  // Last: whoever loads it finds its assets.
  await put(join(TARGET, 'index.html'), html);
  await removeAllBut(outputFiles.map(({ path }) => path));
  return outputFiles.map(({ path, contents }) => ({
    name: basename(path),
    bytes: contents.byteLength,
  }));
}

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/**
 * The dashboard's page as the text of a module. Its files keep their names, so that two versions can
 * stand behind one address: their content is asked for by its hash.
 * @returns the module, and how many bytes the page has on the way
 */
export async function dashboardAssets({ exported = 'module' } = {}) {
  const folder = join(ROOT, DASHBOARD, 'page');
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  const outputFiles = await bundle(folder, {
    outdir: folder,
    define: { VERSION: JSON.stringify(version) },
  });
  const contents = [
    ['index.html', await readFile(join(folder, 'index.html'))],
    ...outputFiles.map((file) => [
      basename(file.path).replace(/^main\.js$/, 'page.js'),
      file.contents,
    ]),
  ];
  let bytes = 0;
  const files = contents.map(([name, content]) => {
    const gzip = gzipSync(content, { level: 9 });
    bytes += gzip.byteLength;
    const hash = createHash('sha256').update(content).digest('base64url').slice(0, 22);
    const type = `${TYPES[extname(name)]}; charset=utf-8`;
    return [name, { type, etag: `"${hash}"`, gzip: gzip.toString('base64') }];
  });
  const names = { VERSION: version, PAGE_FILES: Object.fromEntries(files) };
  const lines = Object.entries(names).map(([name, value]) =>
    exported === 'module'
      ? `export const ${name} = ${JSON.stringify(value)};\n`
      : `exports.${name} = ${JSON.stringify(value)};\n`,
  );
  return { text: lines.join(''), bytes };
}

/** Beside the compiled library, and beside its sources, for what runs them as they are. */
export async function buildDashboard() {
  const { text, bytes } = await dashboardAssets();
  for (const folder of [join(ROOT, 'dist', DASHBOARD), join(ROOT, DASHBOARD)]) {
    await mkdir(folder, { recursive: true });
    await put(join(folder, ASSETS), text);
  }
  return bytes;
}

/** Another `npm start` may be serving the old one. */
async function put(path, contents) {
  const unfinished = `${path}.new-${process.pid}`;
  await writeFile(unfinished, contents);
  await rename(unfinished, path);
}

async function removeAllBut(kept) {
  const folder = dirname(kept[0]);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (!kept.includes(path) && !UNFINISHED.test(path)) await rm(path, { force: true });
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await buildPage();
  await buildDashboard();
}
