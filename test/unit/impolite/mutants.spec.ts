import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { patchSource, type SourcePatch } from '../../../tools/source-patches.mjs';
import { SWC_OPTIONS } from '../../../tools/swc-options.mjs';
import { KINDS } from '../../impolite/kinds/index.js';
import { MUTANTS } from '../../impolite/mutants/mutants.js';
import { RECURRENCES } from '../../mutants-by-suite/recurrences.js';
import { outcomeOf } from '../../impolite/mutants/outcome.js';

const ROOT = new URL('../../../', import.meta.url);
const pathOf = (file: string): string => fileURLToPath(new URL(file, ROOT));

/** The sources that they change, as the mutant has them, compiled. */
function changed(patches: readonly SourcePatch[]): string[] {
  const files = new Set(patches.map(({ file }) => pathOf(file)));
  return [...files].map((file) => {
    const source = patchSource(readFileSync(file, 'utf8'), file, patches);
    return transformSync(source, { ...SWC_OPTIONS, swcrc: false }).code;
  });
}

describe.each(Object.entries(MUTANTS))('%s', (_, { patches, kinds, tests }) => {
  it('still fits the code', () => {
    // Throws when what it changes no longer stands there once, and when what comes of it is no TypeScript.
    expect(changed(patches).every((code) => code.length > 0)).toBe(true);
  });

  it('names programs and tests that there are', () => {
    expect(kinds.filter((kind) => KINDS[kind] === undefined)).toEqual([]);
    expect(tests.filter((test) => !existsSync(pathOf(`test/${test}.spec.ts`)))).toEqual([]);
  });
});

describe.each(Object.entries(RECURRENCES))('%s', (_, { patches, tests }) => {
  it('still fits the code, and names specs that there are', () => {
    expect(changed(patches).every((code) => code.length > 0)).toBe(true);
    expect(tests.filter((test) => !existsSync(pathOf(`test/${test}.spec.ts`)))).toEqual([]);
  });
});

describe('a patch', () => {
  const file = 'src/delay-queue/index.ts';
  const of = (from: string): string =>
    patchSource('one two two', pathOf(file), [{ file, from, to: 'three' }]);

  it('changes what stands there once', () => {
    expect(of('one')).toBe('three two two');
    const other = [{ file: 'src/main.ts', from: 'one', to: 'three' }];
    expect(patchSource('one', pathOf(file), other)).toBe('one');
  });

  it.each([
    ['does not stand there', 'four', 0],
    ['stands there twice', 'two', 2],
  ])('says so when what it changes %s', (_, from, times) => {
    expect(() => of(from)).toThrow(`${file} has this ${times} times instead of once`);
  });
});

describe('an outcome', () => {
  const found = { run: 'callers:s-3', fault: 'late: a delay', afterMs: 4_000 };

  it('of a mutant that was found is as expected, whatever else was wrong', () => {
    expect(outcomeOf('m', { played: 3, found, others: ['x'] })).toMatchObject({
      asExpected: true,
      cells: ['callers:s-3', 'late', '4'],
    });
  });

  it('of a mutant is not when the same program blames the real engine', () => {
    const told = { played: 3, found, others: [] };
    expect(outcomeOf('m', told, { played: 1, others: [] }).asExpected).toBe(true);
    expect(outcomeOf('m', told, { played: 1, others: ['x'] })).toMatchObject({
      asExpected: false,
      details: ['the real engine, too: x'],
    });
    expect(outcomeOf('m', told, new Error('no server')).asExpected).toBe(false);
  });

  it('of a mutant that was blamed for something else, or for nothing, is not', () => {
    const other = outcomeOf('m', { played: 3, others: ['x'] });
    expect(other).toMatchObject({ asExpected: false, details: ['x'] });
    expect(other.line).toBe('✗ m: 1 faults, none of its own in 3 programs');
    expect(outcomeOf('m', { played: 3, others: [] }).asExpected).toBe(false);
  });

  it('of the real engine is as expected without any fault', () => {
    expect(outcomeOf(undefined, { played: 3, others: [] }).asExpected).toBe(true);
    expect(outcomeOf(undefined, { played: 3, others: ['x'] }).asExpected).toBe(false);
    expect(outcomeOf(undefined, new Error('no server')).asExpected).toBe(false);
  });
});
