import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  type CancelResult,
  DelayInvalidError,
  DelayUnavailableError,
  DelayUnstableError,
} from 'nestjs-delay-queue';
import { Aborts } from '../../../src/delay-queue/core/client/aborts.js';
import type { NameAndKey } from '../../../src/delay-queue/core/store/rows/delay-rows.js';

const dueAt = new Date(0);
const running = (id: number, more: object = {}): CancelResult => ({
  verdict: 'running',
  id: String(id),
  dueAt,
  ...more,
});
const cancelled = (id: number): CancelResult => ({ verdict: 'cancelled', id: String(id), dueAt });

/** What each look answers, in the order of its targets; the last one stays. */
let looks: (CancelResult[] | Error)[];
/** What was done, in order. */
let done: string[];
/** Of the transaction that a call names. */
let level: string;
let aborts: Aborts;

async function look(targets: readonly unknown[]): Promise<CancelResult[]> {
  done.push(`look at ${targets.map((each) => (each as NameAndKey).key).join()}`);
  const answer = looks.length > 1 ? looks.shift() : looks[0];
  if (answer instanceof Error) throw answer;
  return answer as CancelResult[];
}

beforeEach(() => {
  [looks, done, level] = [[], [], 'read committed'];
  aborts = new Aborts(
    {
      of: ({ manager }: { manager?: unknown }) => ({
        joined: manager === 'own' ? undefined : manager,
        runner: { query: async () => [{ level }] },
      }),
    } as never,
    {
      abort: async (ids) => {
        done.push(`abort ${ids.join()}`);
        // It need not answer.
        if (ids.includes(99)) await new Promise(() => {});
      },
    },
    { runningIds: () => new Set() },
  );
});

const manager = { queryRunner: { isTransactionActive: true } } as never;
async function end(
  targets: readonly NameAndKey[],
  abortWithinMs: number,
  transaction = {},
): Promise<CancelResult[]> {
  const giveUpAtMs = performance.now() + abortWithinMs;
  return await aborts.end(targets, await look(targets), { transaction, giveUpAtMs }, look);
}
const one = async (abortWithinMs: number, transaction = {}) =>
  (await end([{ name: 'a', key: 'x' }], abortWithinMs, transaction))[0];
const list = (abortWithinMs: number, transaction = {}) =>
  end(
    ['x', 'y', 'z'].map((key) => ({ name: 'a', key })),
    abortWithinMs,
    transaction,
  );

const LONG_MS = 60_000;

describe('a cancel', () => {
  it('asks attempts to end, and looks again at those alone until they have', async () => {
    looks = [
      [running(1), cancelled(2), running(3)],
      [running(1), cancelled(3)],
      [{ verdict: 'absent' }],
    ];
    expect(await list(LONG_MS)).toEqual([{ verdict: 'absent' }, cancelled(2), cancelled(3)]);
    expect(done).toEqual(['look at x,y,z', 'abort 1,3', 'look at x,z', 'abort 1', 'look at x']);
  });

  it('gives up in its time, whatever the engine answers', async () => {
    looks = [[running(99)]];
    expect(await one(20)).toEqual(running(99));
    expect(done.slice(0, 2)).toEqual(['look at x', 'abort 99']);
  });

  it('pauses between its looks, and longer with each', async () => {
    looks = [[running(1)]];
    await one(200);
    // Of pauses of 5, 10, 20, 40, 80 ms, each up to half shorter: a slower machine looks less often.
    expect(done.filter((each) => each === 'look at x').length).toBeLessThanOrEqual(9);
  });

  it('does not forget that it took a rerun back', async () => {
    looks = [[running(1, { rerunCancelled: true })], [running(1)]];
    expect(await one(30)).toEqual(running(1, { rerunCancelled: true }));
  });

  it.each([
    ['could not be written', new DelayUnstableError(3)],
    ['found no connection', new DelayUnavailableError('full')],
  ])('alone looks again when a look %s', async (_, error) => {
    looks = [[running(1)], error, [cancelled(1)]];
    expect(await one(LONG_MS)).toEqual(cancelled(1));
    looks = [[running(1)], new Error('broken')];
    await expect(one(LONG_MS)).rejects.toThrow('broken');
  });

  it('in a transaction fails with its look', async () => {
    looks = [[running(1)], new DelayUnstableError(3)];
    await expect(one(LONG_MS, { manager })).rejects.toBeInstanceOf(DelayUnstableError);
    looks = [[running(1)], new DelayUnstableError(3), [cancelled(1)]];
    expect(await one(LONG_MS, { manager: 'own' })).toEqual(cancelled(1));
  });
});

describe('in a transaction that sees what it saw', () => {
  beforeEach(() => {
    level = 'repeatable read';
  });

  it('an abort is refused when something runs', async () => {
    looks = [[running(1)]];
    const refusal = one(LONG_MS, { manager });
    await expect(refusal).rejects.toBeInstanceOf(DelayInvalidError);
    await expect(refusal).rejects.toThrow("'abort' in a REPEATABLE READ transaction");
    expect(done).toEqual(['look at x']);
  });

  it('none is refused where nothing is to end, or the manager is in none', async () => {
    looks = [[cancelled(1)], [running(1)], [cancelled(1)]];
    expect(await one(LONG_MS, { manager })).toEqual(cancelled(1));
    expect(await one(LONG_MS, { manager: {} })).toEqual(cancelled(1));
  });
});
