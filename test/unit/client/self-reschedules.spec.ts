import { beforeEach, expect, it } from '@jest/globals';
import { SelfReschedules } from '../../../src/delay-queue/core/client/self-reschedules.js';
import type { MoveTo } from '../../../src/delay-queue/core/config/durations.js';
import type { Placed } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import type { ActingAttempt } from '../../../src/delay-queue/core/transactions/handler-context.js';

const TO: MoveTo = { kind: 'after', ms: 1_000 };

/** What the row answers, and for how long its lock was waited for. */
let answer: Placed | undefined;
let lockWaits: string[];
let rollsBack: () => void;
let own: ActingAttempt;
let reschedules: SelfReschedules;

beforeEach(() => {
  [answer, lockWaits] = [{ verdict: 'rescheduled' } as unknown as Placed, []];
  own = { movedOn: false, occurrence: null, handler: { transactional: false } } as never;
  reschedules = new SelfReschedules(
    {
      moveOn: async (...[, , , , lockWait]: unknown[]) => {
        lockWaits.push(lockWait as string);
        return answer;
      },
    } as never,
    { onRollback: (_: unknown, work: () => void) => (rollsBack = work) } as never,
    {},
  );
});

const reschedule = (transaction: 'callers' | 'ours' = 'ours') =>
  reschedules.reschedule(own, undefined, { transaction } as never, TO);

it('an attempt whose row has moved on is marked so, until that is rolled back', async () => {
  expect(await reschedule()).toBe(answer);
  expect(own.movedOn).toBe(true);
  rollsBack();
  expect(own.movedOn).toBe(false);
});

it('an attempt that no longer holds its row has not moved it', async () => {
  answer = undefined;
  expect(await reschedule()).toBeUndefined();
  expect(own.movedOn).toBe(false);
});

it('waits for its row as long as no transaction of its own may hold it', async () => {
  await reschedule('callers');
  await reschedule('callers');
  own = { ...own, movedOn: false };
  await reschedule();
  own = { ...own, movedOn: false, handler: { ...own.handler, transactional: true } };
  await reschedule('callers');
  expect(lockWaits).toEqual(['waits', 'at once', 'a while', 'at once']);
});
