import { setTimeout as pause } from 'node:timers/promises';
import { Attempt } from '../../../src/delay-queue/execution/call/attempt.js';
import { Executor } from '../../../src/delay-queue/execution/executor.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import type { Surgery } from './surgery.js';

/** How long a mutant thinks that its lease goes on. */
const FOR_LONG_MS = 600_000;

/** By how much later it tells a handler that its time is over. */
const PATIENCE = 6;

/** One in so many transactional calls is slow between its claim and its fence. */
const LATE_FENCES = 3;

/** There are fewer batches of more than one delay. */
const LATE_BATCHES = 2;

/** A batch that is late looks so often whether another node has one of its delays by now. */
const LOOK_EVERY_MS = 5;

/** Nothing in the process tells a transactional attempt that its time is over. */
export function believeInTheLease(surgery: Surgery): void {
  surgery.wrap(
    Executor.prototype,
    'run',
    (original) =>
      function confident(this: Executor, call) {
        const { handler } = call;
        if (!handler.transactional) return original.call(this, call);
        for (const attempt of call.attempts) attempt.leaseEndsAtMs += FOR_LONG_MS;
        const patient = { ...handler, timeoutMs: handler.timeoutMs * PATIENCE };
        return original.call(this, Object.assign(call, { handler: patient }));
      },
  );
}

/** Two of one delay meet before either has its fence, which by chance alone is rare. */
export const fenceTooLate = (surgery: Surgery): void =>
  delayFences(surgery, { every: LATE_FENCES, sizeMin: 1 }, async (_, [claim]) => {
    await pause(leaseLeftMs(claim) + claim.handler.leaseMs / 2);
  });

/**
 * A batch meets the successor of one of its delays, while those that are nobody else's yet are still
 * its own: by a later time another node has them all.
 */
export const fenceBatchesTooLate = (surgery: Surgery): void =>
  delayFences(surgery, { every: LATE_BATCHES, sizeMin: 2 }, async (store, claims) => {
    const [first] = claims;
    await pause(leaseLeftMs(first));
    const epochs = new Map(claims.map(({ id, epoch }) => [id, epoch]));
    while (leaseLeftMs(first) > -first.handler.leaseMs) {
      const rows = await store.lookAt([...epochs.keys()]);
      const own = rows.filter(({ id, epoch }) => epochs.get(id) === epoch);
      if (own.length < claims.length) return;
      await pause(LOOK_EVERY_MS);
    }
  });

type Attempts = readonly [Attempt, ...Attempt[]];

/** Of a mutant that believes in its lease. */
const leaseLeftMs = ({ leaseEndsAtMs }: Attempt): number =>
  leaseEndsAtMs - FOR_LONG_MS - performance.now();

/** @param which one in `every` calls of at least `sizeMin` attempts */
function delayFences(
  surgery: Surgery,
  which: { every: number; sizeMin: number },
  delay: (store: AttemptStore, attempts: Attempts) => Promise<void>,
): void {
  let fences = 0;
  surgery.wrap(
    AttemptStore.prototype,
    'fence',
    (original) =>
      async function late(this: AttemptStore, runner, claims, idleMs) {
        if (areAttempts(claims) && claims.length >= which.sizeMin) {
          fences += 1;
          if (fences % which.every === 0) await delay(this, claims);
        }
        return original.call(this, runner, claims, idleMs);
      },
  );
}

const areAttempts = (claims: readonly object[]): claims is Attempts =>
  claims.length > 0 && claims.every((claim) => claim instanceof Attempt);
