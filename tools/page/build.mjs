/**
 * Bundles the page at `/` into `dist/page`: `index.html`, and assets whose names change with their
 * content. A part of `npm run build`, and of `npm start` when a source is newer.
 */
import { build } from 'esbuild';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = join(ROOT, 'src', 'shop', 'page');
const TARGET = join(ROOT, 'dist', 'page');

/** What somebody else is writing just now. */
const UNFINISHED = /\.new-\d+$/;

/** @returns what was written: paths below `dist/page`, and their bytes */
export async function buildPage() {
  const { outputFiles } = await build({
    entryPoints: [join(SOURCES, 'main.tsx'), join(SOURCES, 'page.css')],
    outdir: join(TARGET, 'assets'),
    entryNames: '[name].[hash]',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['es2022', 'chrome110', 'firefox115', 'safari16.4'],
    tsconfig: join(SOURCES, 'tsconfig.json'),
    logLevel: 'silent',
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await buildPage();
