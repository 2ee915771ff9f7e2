import { beforeEach, expect, it } from '@jest/globals';
import type { Job } from '../../../src/delay-queue/core/worker/job.js';
import { ClaimSizes } from '../../../src/delay-queue/core/worker/claim-sizes.js';
import type { NameStates } from '../../../src/delay-queue/core/worker/name-state.js';
import { nameStates } from '../../support/name-states.js';

const entriesOf = (name: string, count: number): Job[] =>
  Array.from({ length: count }, (_, id) => ({ id, name }) as Job);

let names: NameStates;
let sizes: ClaimSizes;

beforeEach(() => {
  names = nameStates((name) => (name === 'slow' ? { leaseMs: 1_200 } : {}));
  sizes = new ClaimSizes(100, names);
});

const anyOf = (name: string): Job => ({ id: 0, name }) as Job;

const sizeOf = (name: string): number | undefined => names.of(name).claimSize?.now;

it('a name whose claim failed is claimed apart and in halves, and no other name is', () => {
  sizes.failed(entriesOf('heavy', 100));
  expect([sizeOf('heavy'), sizeOf('light')]).toEqual([50, undefined]);
});

it('of names that failed together none is smaller, until it fails by itself', () => {
  const light = entriesOf('light', 50);
  sizes.failed([...entriesOf('heavy', 50), ...light]);
  expect(sizeOf('light')).toBe(100);
  // Delays of a failed claim are asked for in halves, whatever their name may ask for.
  expect(light[0]?.claimedWithin).toBe(50);
  sizes.worked(light, 10);
  expect([sizeOf('light'), sizeOf('heavy')]).toEqual([undefined, 100]);
  expect(light[0]?.claimedWithin).toBeUndefined();
});

it('one claim apart is in flight at a time', () => {
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
  sizes.worked(entriesOf('slow', 100), 201);
  expect(sizeOf('slow')).toBe(50);
  sizes.worked(entriesOf('slow', 50), 10);
  expect(sizeOf('slow')).toBeUndefined();
});
