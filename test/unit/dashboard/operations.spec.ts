import { afterEach, expect, it } from '@jest/globals';
import { DelayUnavailableError } from 'nestjs-delay-queue';
import type { OperationLine } from '../../../src/delay-queue/dashboard/contract.js';
import type { OperationLog } from '../../../src/delay-queue/dashboard/operation-log.js';
import { Operations } from '../../../src/delay-queue/dashboard/operations.js';
import { Rights } from '../../../src/delay-queue/dashboard/rights.js';
import type { DashboardQueue } from '../../../src/delay-queue/dashboard/queue.js';

const LINE = { id: '1', who: 'tester', state: 'running', counts: {} } as OperationLine;
const CANCEL = {
  deed: { action: 'cancel', which: { filter: { name: 'test.a' }, listed: null } },
  why: null,
  asked: {},
} as const;

const TESTER = new Rights({ who: 'tester', actions: 'all' });

type Cancel = (options: { signal: AbortSignal }) => Promise<void>;

const closings: AbortController[] = [];

afterEach(() => {
  for (const closing of closings.splice(0)) closing.abort();
});

/** Operations whose log and whose queue are the test's. */
function operationsOf(cancel: Cancel, log: Partial<OperationLog>) {
  const closing = new AbortController();
  closings.push(closing);
  const held: Promise<unknown>[] = [];
  const queue = {
    admin: { cancel: (_filter: object, options: { signal: AbortSignal }) => cancel(options) },
    database: { hold: (work: Promise<unknown>) => held.push(work) },
    closing: closing.signal,
  } as unknown as DashboardQueue;
  const told: OperationLine[] = [];
  const all = {
    open: async () => LINE,
    end: async (_id: string, as: OperationLine['state']) => ({ ...LINE, state: as }),
    keep: async () => [],
    ...log,
  } as unknown as OperationLog;
  const operations = new Operations(
    queue,
    all,
    (line) => told.push(line),
    async () => null,
    1,
  );
  return { operations, told, held, closing };
}

/** Until its signal is aborted; then as between two pages. */
const long: Cancel = ({ signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

it('keeps what runs, and hears there that it is to stop', async () => {
  const kept: (readonly string[])[] = [];
  const { operations, told } = operationsOf(long, {
    keep: async (ids) => {
      kept.push(ids);
      if (kept.length === 1) throw new Error('the database is away');
      return kept.length === 3 ? ['1'] : [];
    },
  });
  expect(await operations.start(CANCEL, TESTER)).toMatchObject({ state: 'stopped' });
  expect(kept).toEqual([['1'], ['1'], ['1']]);
  expect(told.map(({ state }) => state)).toEqual(['running', 'stopped']);
});

it('tries again to write down how it ended, and holds its connections for so long', async () => {
  let tries = 0;
  const { operations, held } = operationsOf(async () => {}, {
    end: async () => {
      tries += 1;
      if (tries < 3) throw new Error('the database is away');
      return { ...LINE, state: 'done' };
    },
  });
  await operations.start(CANCEL, TESTER);
  await Promise.all(held);
  expect(tries).toBe(3);
});

it('answers after a second what goes on, and takes no more when its application closes', async () => {
  const { operations, held, closing } = operationsOf(long, {});
  expect(await operations.start(CANCEL, TESTER)).toBe(LINE);
  closing.abort();
  await expect(operations.start(CANCEL, TESTER)).rejects.toMatchObject({ problem: 'busy' });
  expect(await Promise.all(held)).toMatchObject([{ as: 'stopped' }]);
});

it('of two, the second begins when the first has ended, however it did', async () => {
  const begun: string[] = [];
  let ids = 0;
  const { operations } = operationsOf(
    async () => {
      begun.push('');
      if (begun.length === 1) throw new DelayUnavailableError('no connection');
    },
    { open: async () => ({ ...LINE, id: String((ids += 1)) }) },
  );
  const both = await Promise.all([
    operations.start(CANCEL, TESTER),
    operations.start(CANCEL, TESTER),
  ]);
  expect(both.map(({ state }) => state)).toEqual(['failed', 'done']);
});
