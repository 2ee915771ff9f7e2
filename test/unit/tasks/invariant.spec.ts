import { expect, it } from '@jest/globals';
import { CHECKED, invariant } from '../../../src/delay-queue/core/tasks/invariant.js';
import type { Attempt } from '../../../src/delay-queue/core/worker/attempt.js';
import { Jobs } from '../../../src/delay-queue/core/worker/jobs.js';

it('invariants are checked in tests, and name what was seen', () => {
  expect(CHECKED).toBe(true);
  expect(() => invariant(true, 'sizes', 1)).not.toThrow();
  expect(() => invariant(false, 'sizes', 1, 'a')).toThrow('invariant broken: sizes (1, a)');
});

const claim = (epoch: number) => ({ id: 1, epoch }) as Attempt;

it('a second claim of one epoch is found where it is taken in', () => {
  const jobs = new Jobs();
  jobs.adopt(claim(2));
  jobs.adopt(claim(3));
  expect(() => jobs.adopt(claim(3))).toThrow('one claim of an epoch (3)');
});
