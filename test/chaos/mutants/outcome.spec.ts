import { expect, it } from '@jest/globals';
import type { ChaosResult } from '../run.js';
import { outcomeOf } from './outcome.js';

const verdict = (invariant: number, violations: number) => ({
  invariant,
  title: `rule ${invariant}`,
  checked: 9,
  violations,
  examples: violations > 0 ? [`delay 1: broke rule ${invariant}`] : [],
});

const blamedBy = (...broken: number[]): ChaosResult => ({
  verdicts: [1, 2, 10].map((number) => verdict(number, broken.includes(number) ? 3 : 0)),
  figures: {},
  odd: [],
});

it('a mutant that names no invariant is caught by whichever blames it', () => {
  expect(outcomeOf('m', blamedBy(10), 0).asExpected).toBe(true);
  expect(outcomeOf('m', blamedBy(), 0).asExpected).toBe(false);
});

it('a mutant that names one is caught by that one, whatever else blames it', () => {
  const caught = outcomeOf('m', blamedBy(1, 2), 0, 2);
  expect(caught).toMatchObject({ asExpected: true, example: 'delay 1: broke rule 2' });
  const other = outcomeOf('m', blamedBy(10), 0, 2);
  expect(other.asExpected).toBe(false);
  expect(other.line).toContain('blamed by 10 (3), not by 2');
});

it('the engine as it is must not be blamed, nor do what no fault explains', () => {
  expect(outcomeOf(undefined, blamedBy(), 0).asExpected).toBe(true);
  expect(outcomeOf(undefined, blamedBy(2), 0).asExpected).toBe(false);
  const odd = { ...blamedBy(), odd: ['a process ended by itself'] };
  expect(outcomeOf(undefined, odd, 0).asExpected).toBe(false);
});
