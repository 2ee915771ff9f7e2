import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Declarations } from '../../tools/api-tables/declarations.js';
import { generatedPage } from '../../tools/api-tables/page.js';
import { TABLES } from '../../tools/api-tables/tables.js';

const folder = mkdtempSync(join(tmpdir(), 'api-tables-'));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Those of one file, in place of the library's. */
function declarationsIn(source: string): Declarations {
  const file = join(folder, 'index.ts');
  writeFileSync(file, source);
  return new Declarations([file]);
}

describe('the tables of docs/api.md', () => {
  it('say the first paragraph, the tags and the page that a docstring names', () => {
    const declarations = declarationsIn(`
      interface Base {
        /** Of the {@link Base}. */
        first?: string;
      }
      type Either = { second: number; third?: never } | { third: Date };
      export type DelayQueueOptions = Base & Either & {
        /**
         * In two
         * lines.
         *
         * Not this.
         *
         * @default 'a | b'
         * @range 1 to 5
         * @see docs/recipes/debounce.md
         */
        fourth?: string;
        /** Here. @range any */
        second?: number;
        /**
         * There.
         * @default the module's
         * @see docs/api.md#batches
         */
        third?: Date;
      };
    `);
    expect(TABLES['options']?.(declarations)).toEqual([
      ['option', 'default', 'range', 'meaning'],
      ['`first`', '', '', 'Of the `Base`.'],
      ['`second`', '', 'any', 'Here.'],
      ['`third`', "the module's", '', 'There. ([more](#batches))'],
      ['`fourth`', "`'a | b'`", '1 to 5', 'In two lines. ([recipe](recipes/debounce.md))'],
    ]);
  });

  it('take arguments and verdicts from the types, and of overloads each', () => {
    const declarations = declarationsIn(`
      type Result = { verdict: 'done'; id: string } | { verdict: 'absent' };
      type Counts = { matched: number };
      export class DelayService {
        constructor(given: string) {}
        /** Does it. */
        one(name: string, options: { manager?: object; key?: string }): Promise<Result> {}
        /** Does them. */
        all(targets: string[]): Promise<Result[]>;
        all(filter: object, options?: { signal?: object }): Promise<Counts>;
        all(which: unknown): unknown {}
        /**
         * Reads.
         *
         * @returns a number
         */
        read(): Promise<number> {}
        #hidden(): void {}
      }
    `);
    expect(TABLES['methods']?.(declarations).slice(1)).toEqual([
      ['`one`', 'Does it.', 'name, `key`', '`done`, `absent`'],
      ['`all`', 'Does them.', 'targets; or filter, `signal`', '`done`, `absent`; one for each'],
      ['`read`', 'Reads.', '', 'a number'],
    ]);
  });

  it('are not written without a docstring, or a place', async () => {
    const silent = declarationsIn('export interface DelayFilter { key?: string }');
    expect(() => TABLES['filters']?.(silent)).toThrow('no docstring says key');
    await expect(generatedPage('# API\n')).rejects.toThrow('no place for methods, administration');
    await expect(generatedPage('<!-- generated: optoins -->\n<!-- /generated -->')).rejects.toThrow(
      'there is no table optoins',
    );
  });
});
