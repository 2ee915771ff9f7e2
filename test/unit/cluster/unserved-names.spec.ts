import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { UnservedNames } from '../../../src/delay-queue/cluster/nodes.js';
import { DelayEvents } from '../../../src/delay-queue/api/events.js';

/** When it asks, and how often; what it is answered stands in `test/integration/engine/unserved-names.spec.ts`. */
let asked: (readonly string[])[];
let names: UnservedNames;

beforeEach(() => {
  jest.useFakeTimers();
  asked = [];
  const unserved = async (some: readonly string[]): Promise<string[]> => {
    asked.push(some);
    return [];
  };
  names = new UnservedNames({ unserved }, ['own'], { loadEveryMs: 10_000 }, new DelayEvents());
});

afterEach(() => {
  jest.useRealTimers();
});

it('asks for all new names together, when who serves them has had the time of three loads', () => {
  for (const name of ['a', 'own', 'b', 'a']) names.written(name);
  jest.advanceTimersByTime(29_999);
  expect(asked).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(asked).toEqual([['a', 'b']]);
});

it.each([[['a']], [[]]])('asks nobody once it is stopped, after %j', async (before) => {
  for (const name of before) names.written(name);
  await names.stop();
  names.written('b');
  jest.runAllTimers();
  expect(asked).toEqual([]);
});

it('asks for a thousand names in its life', () => {
  for (let n = 0; n < 1_001; n += 1) names.written(`name ${n}`);
  jest.runAllTimers();
  names.written('one more');
  jest.runAllTimers();
  expect(asked.map(({ length }) => length)).toEqual([1_000]);
});
