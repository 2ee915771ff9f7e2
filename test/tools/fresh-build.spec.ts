import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { livingProcesses } from '../support/living-processes.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What builds, as it is in the repository. */
const TAKEN = [
  'tools/fresh-build.mjs',
  'tools/swc-options.mjs',
  'tools/page/build.mjs',
  'src/shop/page/tsconfig.json',
  'src/delay-queue/dashboard/page/tsconfig.json',
  'tsconfig.json',
  'package-lock.json',
];
/** What is built, small. */
const SOURCES = {
  'package.json': '{ "type": "module", "version": "1.2.3" }',
  'src/main.ts': `import { price } from './shop/price.js';\nexport const shown: string = String(price);\n`,
  'src/shop/price.ts': 'export const price: number = 100;\n',
  'src/shop/page/main.tsx': 'document.title = "a page";\n',
  'src/shop/page/page.css': 'body { color: red; }\n',
  'src/shop/page/index.html': '<link href="/page.css" /><script src="/main.tsx"></script>\n',
  'src/delay-queue/dashboard/page/main.tsx': 'document.title = "delays";\n',
  'src/delay-queue/dashboard/page/page.css': 'body { color: blue; }\n',
  'src/delay-queue/dashboard/page/index.html': '<script src="page.js"></script>\n',
  'migrations/index.ts': 'export const migrations: string[] = [];\n',
};

const PRICE = 'src/shop/price.ts';
const BUILT = { code: 0, output: 'Building the shop\n' };
const LEFT_AS_IT_IS = { code: 0, output: '' };

/** A shop of a few lines. Each test finds it built, and leaves it so. */
describe('what npm start builds', () => {
  let folder: string;

  const path = (file: string): string => join(folder, file);
  const read = (file: string): Promise<string> => readFile(path(file), 'utf8');

  async function write(file: string, content: string): Promise<void> {
    await mkdir(dirname(path(file)), { recursive: true });
    await writeFile(path(file), content);
  }

  /** What `npm start` runs first. */
  async function build(): Promise<{ code: number | null; output: string }> {
    const child = fork(path('tools/fresh-build.mjs'), { execArgv: [], silent: true });
    livingProcesses().add(child);
    const said = Promise.all([text(child.stdout!), text(child.stderr!)]);
    const [code] = (await once(child, 'close')) as [number | null];
    livingProcesses().delete(child);
    return { code, output: (await said).join('') };
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fresh-build-'));
    for (const file of TAKEN) await cp(join(ROOT, file), path(file));
    for (const [file, content] of Object.entries(SOURCES)) await write(file, content);
    await symlink(join(ROOT, 'node_modules'), path('node_modules'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('everything, also when two start at once, and nothing when that is up to date', async () => {
    const both = await Promise.all([build(), build()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    const files = await readdir(path('dist'), { recursive: true });
    expect(files.filter((name) => name.includes('.new-'))).toEqual([]);
    expect(await read('dist/src/main.js')).toContain('String(price)');
    expect(await read('dist/migrations/index.js')).toContain('migrations = []');
    expect(await read('dist/page/index.html')).toMatch(/assets\/page\.\w+\.css.*main\.\w+\.js/);
    const assets = await read('dist/src/delay-queue/dashboard/page-assets.js');
    expect(assets).toMatch(/VERSION = "1\.2\.3".*\n.*"index\.html".*"page\.js".*"page\.css"/);
    expect(await build()).toEqual(LEFT_AS_IT_IS);
  });

  it('a source that changed, also to one that is older than the build', async () => {
    await write(PRICE, 'export const price = 200;\n');
    expect(await build()).toEqual(BUILT);
    expect(await read('dist/src/shop/price.js')).toContain('price = 200');

    await write('src/shop/older.ts', 'export const price = 300;\n');
    await utimes(path('src/shop/older.ts'), 1, 1);
    await rename(path('src/shop/older.ts'), path(PRICE));
    await utimes(path('src/shop'), 1, 1);
    expect(await build()).toEqual(BUILT);
    expect(await read('dist/src/shop/price.js')).toContain('price = 300');
  });

  it.each(['tsconfig.json', 'tools/page/build.mjs'])('again, when %s has changed', async (file) => {
    await appendFile(path(file), '\n');
    expect(await build()).toEqual(BUILT);
    expect(await build()).toEqual(LEFT_AS_IT_IS);
  });

  it('nothing of a source that is broken: it says where, and fails until that is mended', async () => {
    const right = await read(PRICE);
    const { atime, mtime } = await stat(path(PRICE));
    await write(PRICE, 'export const price: = 100;\n');
    for (const { code, output } of [await build(), await build()]) {
      expect(code).toBe(1);
      expect(output).toMatch(/^Building the shop\nThe shop cannot be built: .*Unexpected token/);
      expect(output).toContain(`${PRICE}:1:1`);
      expect(output).not.toMatch(/backtrace|\n {4}at /);
    }
    // As it was, also in time: the failed build may have written others of a later state.
    await write(PRICE, right);
    await utimes(path(PRICE), atime, mtime);
    expect(await build()).toEqual(BUILT);
  });

  it('without a source that was deleted: what it had become goes, too', async () => {
    await rm(path(PRICE));
    expect(await build()).toEqual(BUILT);
    expect(await readdir(path('dist/src'))).toEqual(['delay-queue', 'main.js', 'shop']);
    expect(await readdir(path('dist/src/shop'))).toEqual([]);
    expect(await build()).toEqual(LEFT_AS_IT_IS);
  });

  it('nothing without the packages that build: it says how to get them', async () => {
    await write('src/main.ts', '');
    await rm(path('node_modules'));
    const { code, output } = await build();
    expect(code).toBe(1);
    expect(output).toMatch(/The shop cannot be built: Cannot find package .*\nnpm ci installs/);
  });
});
