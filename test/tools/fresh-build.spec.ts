import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { appendFile, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { SmallShop } from './support/small-shop.js';

const BUILT = { code: 0, output: 'Building the shop\n' };
const LEFT_AS_IT_IS = { code: 0, output: '' };

describe('what npm start builds', () => {
  let shop: SmallShop;

  beforeEach(async () => {
    shop = await SmallShop.create();
  });
  afterEach(() => shop.remove());

  it('everything, when nothing is built, and nothing when that is up to date', async () => {
    expect(await shop.build()).toEqual(BUILT);
    expect(await shop.read('dist/src/main.js')).toContain('String(price)');
    expect(await shop.read('dist/migrations/index.js')).toContain('migrations = []');
    expect(await shop.read('dist/page/index.html')).toMatch(
      /assets\/page\.\w+\.css.*main\.\w+\.js/,
    );
    expect(await shop.build()).toEqual(LEFT_AS_IT_IS);
  });

  it('a source that changed, also to one that is older than the build', async () => {
    await shop.build();
    await shop.write('src/shop/price.ts', 'export const price = 200;\n');
    expect(await shop.build()).toEqual(BUILT);
    expect(await shop.read('dist/src/shop/price.js')).toContain('price = 200');

    await shop.write('src/shop/older.ts', 'export const price = 300;\n');
    await utimes(shop.path('src/shop/older.ts'), 1, 1);
    await rename(shop.path('src/shop/older.ts'), shop.path('src/shop/price.ts'));
    await utimes(shop.path('src/shop'), 1, 1);
    expect(await shop.build()).toEqual(BUILT);
    expect(await shop.read('dist/src/shop/price.js')).toContain('price = 300');
    expect(await shop.build()).toEqual(LEFT_AS_IT_IS);
  });

  it('without a source that was deleted: what it had become goes, too', async () => {
    await shop.build();
    await rm(shop.path('src/shop/price.ts'));
    expect(await shop.build()).toEqual(BUILT);
    expect(await readdir(shop.path('dist/src'))).toEqual(['main.js', 'shop']);
    expect(await readdir(shop.path('dist/src/shop'))).toEqual([]);
    expect(await shop.build()).toEqual(LEFT_AS_IT_IS);
  });

  it.each(['tsconfig.json', 'tools/page/build.mjs'])('again, when %s has changed', async (file) => {
    await shop.build();
    await appendFile(shop.path(file), '\n');
    expect(await shop.build()).toEqual(BUILT);
    expect(await shop.build()).toEqual(LEFT_AS_IT_IS);
  });

  it('nothing of a source that is broken: it says where, and fails until that is mended', async () => {
    const right = await shop.read('src/shop/price.ts');
    await shop.build();
    const { atime, mtime } = await stat(shop.path('src/shop/price.ts'));
    await shop.write('src/shop/price.ts', 'export const price: = 100;\n');

    for (const { code, output } of [await shop.build(), await shop.build()]) {
      expect(code).toBe(1);
      expect(output).toMatch(/^Building the shop\nThe shop cannot be built: .*Unexpected token/);
      expect(output).toContain('src/shop/price.ts:1:1');
      expect(output).not.toMatch(/backtrace|\n {4}at /);
    }

    // As it was, also in time: the failed build may have written others of a later state.
    await shop.write('src/shop/price.ts', right);
    await utimes(shop.path('src/shop/price.ts'), atime, mtime);
    expect(await shop.build()).toEqual(BUILT);
  });

  it('nothing without the packages that build: it says how to get them', async () => {
    await rm(shop.path('node_modules'));
    const { code, output } = await shop.build();
    expect(code).toBe(1);
    expect(output).toMatch(/The shop cannot be built: Cannot find package .*\nnpm ci installs/);
  });

  it('the same, when two start at once', async () => {
    const both = await Promise.all([shop.build(), shop.build()]);
    expect(both.filter(({ code }) => code !== 0)).toEqual([]);
    const built = await readdir(shop.path('dist'), { recursive: true });
    expect(built.filter((name) => name.includes('.new-'))).toEqual([]);
    expect(built).toEqual(expect.arrayContaining(['src/main.js', 'page/index.html']));
    expect(await shop.build()).toEqual(LEFT_AS_IT_IS);
  });
});
