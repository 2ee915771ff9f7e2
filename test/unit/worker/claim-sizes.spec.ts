import { beforeEach, expect, it } from '@jest/globals';
import { ClaimSizes } from '../../../src/delay-queue/worker/limits.js';
import type { Entry } from '../../../src/delay-queue/worker/fair-queue.js';

const entriesOf = (name: string, count: number): Entry[] =>
  Array.from({ length: count }, (_, id) => ({ id, name }) as Entry);

let sizes: ClaimSizes;

beforeEach(() => {
  sizes = new ClaimSizes(100, () => 30_000);
});

const anyOf = (name: string): Entry => ({ id: 0, name }) as Entry;

it('a name whose claim failed is claimed apart and in halves, and no other name is', () => {
  sizes.failed(entriesOf('heavy', 100));
  expect(sizes.mostWith(anyOf('heavy'))).toBe(50);
  expect(sizes.isApart(anyOf('heavy'))).toBe(true);
  expect(sizes.isApart(anyOf('light'))).toBe(false);
  expect(sizes.mostWith(anyOf('light'))).toBe(100);
});

it('of names that failed together none is smaller, until it fails by itself', () => {
  const light = entriesOf('light', 50);
  sizes.failed([...entriesOf('heavy', 50), ...light]);
  expect(sizes.isApart(anyOf('light'))).toBe(true);
  expect(sizes.mostWith(anyOf('light'))).toBe(100);
  // What failed is asked for in halves, whatever its name may ask for.
  expect(sizes.mostWith(light[0] as Entry)).toBe(50);
  sizes.worked(light, 10);
  expect(sizes.isApart(anyOf('light'))).toBe(false);
  expect(sizes.isApart(anyOf('heavy'))).toBe(true);
});

it('one claim apart is on its way at a time', () => {
  sizes.failed(entriesOf('heavy', 100));
  const ended = sizes.begin([anyOf('heavy')]);
  expect(sizes.mayClaimApart).toBe(false);
  const other = sizes.begin([anyOf('light')]);
  other();
  expect(sizes.mayClaimApart).toBe(false);
  ended();
  expect(sizes.mayClaimApart).toBe(true);
});

it('a claim that takes a large part of its lease is followed by smaller ones', () => {
  const quick = new ClaimSizes(100, () => 1_200);
  quick.worked(entriesOf('slow', 100), 201);
  expect(quick.mostWith(anyOf('slow'))).toBe(50);
  quick.worked(entriesOf('slow', 50), 10);
  expect(quick.isApart(anyOf('slow'))).toBe(false);
});
