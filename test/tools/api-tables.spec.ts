import { expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Declarations } from '../../tools/api-tables/declarations.js';
import { generatedPage } from '../../tools/api-tables/page.js';
import { TABLES } from '../../tools/api-tables/tables.js';

/** The table of these declarations, in place of the library's. What else is in one, docs/api.md shows. */
function tableOf(name: string, source: string): string[][] | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'api-tables-'));
  try {
    writeFileSync(join(folder, 'index.ts'), source);
    return TABLES[name]?.(new Declarations([join(folder, 'index.ts')]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('the tables leave out what an alternative may not have, and what is private', () => {
  const filters = `/** Not this. */ key?: never } | {\n /** This. */ key?: string`;
  expect(tableOf('filters', `export type DelayFilter = {\n ${filters} };`)).toEqual([
    ['filter', 'matches'],
    ['`key`', 'This.'],
  ]);
  const methods = `/** Reads. @returns a number */ read(): number {} #hidden(): void {}`;
  expect(tableOf('methods', `export class DelayService {\n ${methods} }`)?.slice(1)).toEqual([
    ['`read(): number`', 'Reads.', 'a number'],
  ]);
});

it('the tables are not written without a docstring, or a place', async () => {
  const silent = 'export interface DelayFilter { key?: string }';
  expect(() => tableOf('filters', silent)).toThrow('no docstring says key');
  await expect(generatedPage('# API\n')).rejects.toThrow('no place for methods, administration');
});
