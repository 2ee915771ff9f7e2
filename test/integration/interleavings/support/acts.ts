import { DelayError, type DelayService, type OnConflict } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import type { AttemptStore } from '../../../../src/delay-queue/core/store/attempt.store.js';
import { OtherNode } from '../../../support/other-node.js';
import { WRITES } from '../../../support/state-machine.js';

/** What an actor acts on. Every move leaves the row due at once, so that a claim could take it. */
export interface Part {
  delays: DelayService;
  manager: EntityManager;
  store: AttemptStore;
  keyOf: (slot: string) => string;
  /** What the wheel of a node knows since before the interleaving began. */
  wake: { id: number; epoch: number };
  /** The attempt that this node believes to have. */
  attempt: { id: number; epoch: number } | undefined;
  /** What the last call of a node asked for. */
  asked?: { id: number; epoch: number };
}

/** One call of the library, or what stands for the passing of time. */
export interface Act {
  name: string;
  /** Statements that it takes at most when nobody is in its way. */
  steps: number;
  slots: readonly string[];
  /** What it is in the table of writes, where that is not the answer's to say. */
  write?: keyof typeof WRITES;
  /** The verdict about each slot; undefined when there is nothing to do for it. */
  run(part: Part): Promise<readonly string[] | undefined>;
}

const LEASE_MS = 60_000;
const NOW = { after: 0 } as const;
const NAME = 'test.a';

function one(
  name: string,
  steps: number,
  run: (part: Part) => Promise<string | undefined>,
  slot = 'a',
): Act {
  return {
    name,
    steps,
    slots: [slot],
    run: async (part) => {
      const verdict = await run(part);
      return verdict === undefined ? undefined : [verdict];
    },
  };
}

async function verdictOf(answer: Promise<{ verdict: string }>): Promise<string> {
  try {
    return (await answer).verdict;
  } catch (error) {
    if (error instanceof DelayError) return error.code;
    throw error;
  }
}

/** Two statements where the row is not there, or has been claimed: what removes, and what tells why not. */
export const cancel = (slot = 'a'): Act =>
  one(
    'cancel',
    2,
    ({ delays, manager, keyOf }) => verdictOf(delays.cancel(NAME, keyOf(slot), { manager })),
    slot,
  );

export const reschedule = (): Act =>
  one('reschedule', 1, ({ delays, manager, keyOf }) =>
    verdictOf(delays.reschedule(NAME, keyOf('a'), NOW, { manager })),
  );

/** Two statements where the key is taken: the insert that does not happen, and the look. */
export const schedule = (onConflict: OnConflict, slot = 'a'): Act =>
  one(
    onConflict,
    2,
    ({ delays, manager, keyOf }) =>
      verdictOf(delays.schedule(NAME, { n: 2 }, { ...NOW, key: keyOf(slot), onConflict, manager })),
    slot,
  );

/** All or none, in the order of the keys whatever the order of the items. */
export const scheduleMany = (...slots: string[]): Act => ({
  name: 'scheduleMany',
  steps: 2,
  slots,
  run: async ({ delays, manager, keyOf }) => {
    const items = slots.map((slot) => ({
      name: NAME,
      payload: { n: 2 },
      key: keyOf(slot),
      ...NOW,
    }));
    const results = await delays.scheduleMany(
      items as Parameters<DelayService['scheduleMany']>[0],
      { manager },
    );
    return results.map(({ verdict }) => verdict);
  },
});

export const retryDead = (): Act =>
  one('retryDead', 1, ({ delays, manager, keyOf }) =>
    verdictOf(delays.retryDead(NAME, keyOf('a'), { manager })),
  );

/** Only looks; in REPEATABLE READ it takes the snapshot. */
export const find = (): Act =>
  one('find', 1, async ({ delays, manager, keyOf }) => {
    const found = await delays.find(NAME, keyOf('a'), { manager });
    return `found ${found?.state ?? 'nothing'}`;
  });

/** Claims what the wheel knew: the epoch of before. */
export const claim = (): Act => one('claim', 1, (part) => claimAs(part, part.wake));

/** Looks first, as the sweep does, and claims the epoch it saw. */
export const sweep = (): Act =>
  one('sweep', 2, async (part) => {
    const [seen] = await part.store.lookAt([part.wake.id]);
    if (seen === undefined || seen.wake_ms === null || seen.wake_ms > seen.now_ms) return undefined;
    return claimAs(part, seen);
  });

async function claimAs(part: Part, { id, epoch }: Part['wake']): Promise<string> {
  part.asked = { id, epoch };
  const [row] = await part.store.claim([{ id, epoch, leaseMs: LEASE_MS, maxAttempts: 10 }]);
  if (row === undefined) return 'missed';
  part.attempt = row;
  return 'claimed';
}

/** A write about the attempt that the node believes to have; nothing when it has none. */
const fenced = (
  write: keyof typeof WRITES,
  perform: (
    store: AttemptStore,
    attempt: { id: number; epoch: number },
  ) => Promise<{ length: number }>,
): Act => ({
  ...one(write, 1, async (part) => {
    const { store, attempt } = part;
    if (attempt === undefined) return undefined;
    part.asked = attempt;
    const isDone = (await perform(store, attempt)).length === 1;
    return isDone ? WRITES[write]?.verdicts[0] : 'stale';
  }),
  write,
});

export const complete = (): Act =>
  fenced('complete', (store, attempt) => store.complete([{ ...attempt, latenessMs: 0 }]));

export const renew = (): Act =>
  fenced('renew', (store, attempt) => store.renew([attempt], LEASE_MS));

const retry =
  (waitMs: number | null) => (store: AttemptStore, attempt: { id: number; epoch: number }) =>
    store.retry([
      { ...attempt, waitMs, movesDue: false, refund: 0, ends: 'failed', error: 'Error: no' },
    ]);

/** The attempt failed: the next one at once, or none. */
export const fail = (): Act => fenced('fail, attempts left', retry(0));
export const failForGood = (): Act => fenced('dead letter', retry(null));

/** What the handler of a transactional attempt does to the order of its key. */
export const close = (): Act =>
  one('close', 1, async (part) => {
    if (part.attempt === undefined) return undefined;
    return (await endOrder(part, 'closed')) ? 'closed' : 'not open';
  });

/** What a payer does to that order. */
export const pay = (): Act =>
  one('pay', 1, async (part) => ((await endOrder(part, 'paid')) ? 'paid' : 'not open'));

async function endOrder({ manager, keyOf }: Part, how: 'closed' | 'paid'): Promise<boolean> {
  const [, count] = await manager.query<[unknown, number]>(
    `UPDATE purchase SET status = $2 WHERE key = $1 AND status = 'open'`,
    [keyOf('a'), how],
  );
  return count === 1;
}

/** The last statement of a transactional attempt; without its row, the whole transaction fails. */
export const remove = (): Act => ({
  ...one('remove', 1, async (part) => {
    const { attempt, manager } = part;
    if (attempt === undefined) return undefined;
    part.asked = attempt;
    const end = await new OtherNode(manager).tryRemove(attempt);
    return end === 'removed' ? 'completed' : end;
  }),
  write: 'complete',
});

/** The transaction of an attempt whose node has claimed it in the same interleaving. */
export const begin = (): Act =>
  one('begin', 0, async ({ manager }) => {
    await manager.queryRunner?.startTransaction();
    return undefined;
  });
export const commit = (): Act =>
  one('commit', 1, async ({ manager }) => {
    await manager.queryRunner?.commitTransaction();
    return undefined;
  });

/** Time passes for a lease, without waiting for it. */
export const expire = (): Act =>
  one('expire', 1, async ({ manager, keyOf }) => {
    const [, count] = await manager.query<[unknown, number]>(
      `UPDATE delay_queue.delay SET leased_until = clock_timestamp() - interval '1 ms'
       WHERE key = $1 AND leased_until > clock_timestamp()`,
      [keyOf('a')],
    );
    return count === 1 ? 'expired' : undefined;
  });
