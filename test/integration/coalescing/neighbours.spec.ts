import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { BatchStore } from '../../../src/delay-queue/store/batch.store.js';
import { signal } from '../../support/delay-node.js';
import { OneNode } from '../../support/one-node.js';

/** What calls that travel together must not do to each other. */
const NAME = 'test.a';
const FAR = { after: '1h' } as const;

const node = new OneNode();

afterEach(() => void jest.restoreAllMocks());

const keys = (count: number): string[] => Array.from({ length: count }, (_, n) => `k${n}`);
const keyOf = (n: number) => (n % 2 === 0 ? `k${n}` : undefined);
const schedule = (key: string) => node.delays.schedule(NAME, { n: 1 }, { ...FAR, key });
const turn = () => new Promise((resolve) => setImmediate(resolve));
const isPoison = (n: number): boolean => n === 7 || n === 22;
async function firstCaller(): Promise<void> {
  await node.delays.schedule('test.any', 'poison', FAR);
}
async function secondCaller(): Promise<void> {
  await node.delays.schedule('test.any', 'poison', { ...FAR, key: 'poisoned' });
}
const verdictsOf = async (calls: Promise<{ verdict: string }>[]): Promise<string[]> =>
  (await Promise.all(calls)).map(({ verdict }) => verdict);

it('calls of one turn travel in one statement, and each has the answer of its own', async () => {
  const statements = (['place', 'placeKeyless', 'cancel'] as const).map((name) =>
    jest.spyOn(BatchStore.prototype, name),
  );
  const results = await Promise.all(
    keys(20).map((_, n) => node.delays.schedule(NAME, { n }, { after: n * 60_000, key: keyOf(n) })),
  );
  const rows = await node.sql(
    `SELECT id::text, key, payload, due_at AS "dueAt" FROM delay_queue.delay ORDER BY due_at`,
  );
  expect(rows).toEqual(
    results.map(({ id, dueAt }, n) => ({ id, key: keyOf(n) ?? null, payload: { n }, dueAt })),
  );
  const cancelled = await Promise.all(keys(20).map((key) => node.delays.cancel(NAME, key)));
  expect(cancelled).toEqual(
    results.map(({ id, dueAt }, n) =>
      n % 2 === 0 ? { verdict: 'cancelled', id, dueAt } : { verdict: 'absent' },
    ),
  );
  const sizes = statements.map(({ mock }) => mock.calls.map(([, of]) => of.length));
  expect(sizes).toEqual([[10], [10], [20]]);
});

it('what gathers behind the statements in flight makes the next one', async () => {
  const open = signal();
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const place = BatchStore.prototype.place;
  const sizes: number[] = [];
  jest.spyOn(BatchStore.prototype, 'place').mockImplementation(async function (
    this: BatchStore,
    ...[runner, placements, answer]
  ) {
    sizes.push(placements.length);
    await open.promise;
    await place.call(this, runner, placements, answer);
  });
  const calls: Promise<unknown>[] = [];
  for (const key of keys(6)) {
    calls.push(schedule(key));
    await turn();
    await turn();
  }
  expect(sizes).toEqual([1, 1]);
  open.resolve();
  await Promise.all(calls);
  expect(sizes).toEqual([1, 1, 4]);
});

describe('a locked row holds up nobody but its own calls', () => {
  it.each(['schedule', 'cancel', 'reschedule'] as const)('%s', async (verb) => {
    await Promise.all(keys(10).map(schedule));
    const transaction = await node.begin();
    await node.delays.reschedule(NAME, 'k3', { after: '2h' }, { manager: transaction.manager });
    const act = (key: string): Promise<{ verdict: string }> => {
      if (verb === 'schedule') return schedule(key);
      return verb === 'cancel'
        ? node.delays.cancel(NAME, key)
        : node.delays.reschedule(NAME, key, FAR);
    };
    const order: string[] = [];
    // The last one is of no delay yet: to say so takes a look, and nobody waits for that either.
    const calls = keys(11).map(async (key) => {
      const { verdict } = await act(key);
      order.push(key);
      return verdict;
    });
    await Promise.all(calls.filter((_, n) => n !== 3));
    await transaction.blocksSomebody();
    expect(order).not.toContain('k3');
    await transaction.commit();
    const [verdict, ofNew] = {
      schedule: ['replaced', 'scheduled'],
      cancel: ['cancelled', 'absent'],
      reschedule: ['rescheduled', 'absent'],
    }[verb];
    expect(await Promise.all(calls)).toEqual(keys(11).map((_, n) => (n < 10 ? verdict : ofNew)));
    expect(order.at(-1)).toBe('k3');
  });

  it.each(['commit', 'rollback'] as const)(
    'a key that somebody is inserting, and then the %s',
    async (end) => {
      const transaction = await node.begin();
      const { manager } = transaction;
      await node.delays.schedule(NAME, { n: 0 }, { ...FAR, key: 'k3', manager });
      const waiting = schedule('k3');
      const others = keys(40).filter((key) => key !== 'k3');
      expect(new Set(await verdictsOf(others.map(schedule)))).toEqual(new Set(['scheduled']));
      await transaction.blocksSomebody();
      // While that one waits, the key is in no other batch.
      const behind = node.delays.cancel(NAME, 'k3');
      expect(new Set(await verdictsOf(others.map(schedule)))).toEqual(new Set(['replaced']));
      await transaction.end(end);
      expect((await waiting).verdict).toBe(end === 'commit' ? 'replaced' : 'scheduled');
      expect((await behind).verdict).toBe('cancelled');
    },
  );
});

it('one that the database refuses fails alone among many, with an error of its own that leads to its caller', async () => {
  await node.sql(`ALTER TABLE delay_queue.delay ADD CHECK (payload::text NOT LIKE '%poison%')`);
  const settled = await Promise.allSettled([
    ...keys(30).map((key, n) =>
      node.delays.schedule('test.any', isPoison(n) ? 'poison' : 'fine', { ...FAR, key }),
    ),
    ...keys(30).map((_, n) =>
      node.delays.schedule('test.any', isPoison(n) ? 'poison' : 'fine', FAR),
    ),
    firstCaller(),
    secondCaller(),
  ]);
  const failed = settled.flatMap((result, n) =>
    result.status === 'rejected' ? ([[n, result.reason as QueryFailedError]] as const) : [],
  );
  expect(failed.map(([n]) => n)).toEqual([7, 22, 37, 52, 60, 61]);
  expect(await node.sql('SELECT FROM delay_queue.delay')).toHaveLength(56);
  for (const [, error] of failed) {
    expect(error).toBeInstanceOf(QueryFailedError);
    expect(error).toMatchObject({ code: '23514' });
    expect(JSON.stringify(error)).not.toContain('poison');
  }
  const stacks = failed.slice(-2).map(([, { stack }]) => stack);
  expect(stacks).toEqual([
    expect.stringMatching(/^QueryFailedError: .*violates check(.|\n)*at (async )?firstCaller/),
    expect.stringMatching(/^QueryFailedError: .*violates check(.|\n)*at (async )?secondCaller/),
  ]);
});
