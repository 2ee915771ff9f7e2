import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { patchSource, type SourcePatch } from '../../../tools/source-patches.mjs';
import { SWC_OPTIONS } from '../../../tools/swc-options.mjs';
import { FAULTS } from '../../chaos/faults/faults.js';
import { MUTANTS as CHAOS } from '../../chaos/mutants/mutants.js';
import type { ChaosResult } from '../../chaos/run.js';
import { KINDS } from '../../impolite/kinds/index.js';
import { MUTANTS as IMPOLITE } from '../../impolite/mutants/mutants.js';
import { MUTANTS } from '../../mutants-by-suite/catalogue.js';
import type { Mutant } from '../../mutants-by-suite/mutant.js';
import { judgedByChaos, judgedByPrograms } from '../../mutants-by-suite/outcome.js';

const ROOT = new URL('../../../', import.meta.url);
const pathOf = (file: string): string => fileURLToPath(new URL(file, ROOT));

/** Throws when what it changes does not stand there once, and when what comes of it is no TypeScript. */
function compile(patches: readonly SourcePatch[]): void {
  for (const file of new Set(patches.map((patch) => pathOf(patch.file)))) {
    const source = patchSource(readFileSync(file, 'utf8'), file, patches);
    transformSync(source, { ...SWC_OPTIONS, swcrc: false });
  }
}

const ALL: [string, Mutant][] = Object.entries(MUTANTS);

describe('the catalogues of mutants', () => {
  it.each(ALL)('%s still fits the code, and names specs that there are', (_, mutant) => {
    const { patches, tests = [] } = mutant;
    expect(() => compile(patches)).not.toThrow();
    expect(tests.filter((test) => !existsSync(pathOf(`test/${test}.spec.ts`)))).toEqual([]);
  });

  it('name programs and faults that there are, and each mutant once', () => {
    const kinds = Object.values(IMPOLITE).flatMap((mutant) => mutant.kinds);
    expect(kinds.filter((kind) => KINDS[kind] === undefined)).toEqual([]);
    const faults = Object.values(CHAOS).flatMap((mutant) => mutant.faults ?? []);
    expect(faults.filter((fault) => !FAULTS.some(({ kind }) => kind === fault))).toEqual([]);
    expect(new Set(ALL.map(([name]) => name)).size).toBe(ALL.length);
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

function blamedBy(...broken: number[]): ChaosResult {
  const verdicts = [1, 2, 10].map((invariant) => {
    const violations = broken.includes(invariant) ? 3 : 0;
    const examples = violations > 0 ? [`broke rule ${invariant}`] : [];
    return { invariant, title: '', checked: 9, violations, examples };
  });
  return { verdicts, figures: {}, odd: [] };
}

const odd = (...what: string[]): Partial<ChaosResult> => ({ odd: what });

describe('a chaos run', () => {
  it.each<[string, boolean, { blamedBy?: number } | undefined, ChaosResult]>([
    ['finds a mutant by any invariant', true, {}, blamedBy(10)],
    ['does not find what nothing blames', false, {}, blamedBy()],
    ['finds by the invariant that a mutant names', true, { blamedBy: 2 }, blamedBy(1, 2)],
    ['does not by another', false, { blamedBy: 2 }, blamedBy(10)],
    ['finds nothing by nonsense', false, {}, { ...blamedBy(1), ...odd('said "syntax error"') }],
    ['leaves the engine alone', true, undefined, blamedBy()],
    ['blames the engine', false, undefined, blamedBy(2)],
    ['blames it for what is odd', false, undefined, { ...blamedBy(), ...odd('it ended') }],
  ])('%s', (_, asExpected, mutant, result) => {
    expect(judgedByChaos(mutant, result).asExpected).toBe(asExpected);
  });

  it('tells of its own reason first, and of one that is missing', () => {
    expect(judgedByChaos({ blamedBy: 2 }, blamedBy(1, 2)).by).toBe('1 (3) 2 (3): broke rule 2');
    expect(judgedByChaos({ blamedBy: 2 }, blamedBy(10)).by).toMatch(/^10 \(3\), not by 2:/);
  });
});

const told = (...others: string[]) => ({ played: 3, others });

describe('programs', () => {
  const found = { run: 'callers:s-3', fault: 'late: a delay' };

  it.each([
    ['find a mutant, whatever else was wrong', true, true, { ...told('x'), found }, told()],
    ['find none that the real engine is, too', false, true, { ...told(), found }, told('x')],
    ['find none by the faults of others', false, true, told('x'), undefined],
    ['find none without a fault', false, true, told(), undefined],
    ['leave the real engine alone', true, false, told(), undefined],
    ['blame it', false, false, told('x'), undefined],
  ])('%s', (_, asExpected, isMutant, its, real) => {
    expect(judgedByPrograms(isMutant, its, real).asExpected).toBe(asExpected);
  });
});
