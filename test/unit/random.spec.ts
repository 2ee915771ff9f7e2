import { expect, it } from '@jest/globals';
import { randomOf } from '../../src/random.js';

it('the same seed gives the same numbers, whatever a fork of it was used for', () => {
  const one = randomOf('a seed');
  const other = randomOf('a seed');
  const fork = other.fork('aside');
  for (let n = 0; n < 10; n += 1) fork.next();
  const numbers = Array.from({ length: 100 }, () => one.next());
  expect(Array.from({ length: 100 }, () => other.next())).toEqual(numbers);
  expect(Array.from({ length: 100 }, () => fork.next())).not.toEqual(numbers);
  expect(numbers.filter((number) => number < 0 || number >= 1)).toEqual([]);
});

it('a shuffle keeps every item', () => {
  const items = Array.from({ length: 50 }, (_, index) => index);
  const shuffled = randomOf(1).shuffled(items);
  expect(shuffled).not.toEqual(items);
  expect(shuffled.toSorted((a, b) => a - b)).toEqual(items);
});
