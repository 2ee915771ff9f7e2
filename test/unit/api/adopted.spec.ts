/* oxlint-disable unicorn/no-thenable -- as query builders have it, and hostile */
import { expect, it } from '@jest/globals';
import { adopted } from '../../../src/delay-queue/core/api/adopted.js';

it.each([undefined, null, 5, 'a text', {}, [], () => {}, { then: 'no function' }])(
  '%p is no promise, and stays what it is',
  (answer) => {
    expect(adopted<unknown>(answer)).toBe(answer);
  },
);

it('an ordinary promise stays the same, so that nothing is spent on it', () => {
  const promise = Promise.resolve(5);
  expect(adopted(promise)).toBe(promise);
});

it('a thenable is asked in a turn of its own, with itself as this', async () => {
  const asked: unknown[] = [];
  const thenable = {
    then(this: unknown, resolve: (value: number) => void): void {
      asked.push(this);
      resolve(5);
    },
  };
  const promise = adopted(thenable);
  expect(asked).toEqual([]);
  expect(await promise).toBe(5);
  expect(asked).toEqual([thenable]);
});

it('a thenable that answers itself ends in an error', async () => {
  const circle = { then: (resolve: (value: unknown) => void) => resolve(circle) };
  await expect(adopted<unknown>(circle)).rejects.toThrow('without an end');
});
