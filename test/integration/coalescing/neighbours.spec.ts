import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { OneNode } from '../../support/one-node.js';

/** What calls that travel together must not do to each other. */
const NAME = 'test.a';
const FAR = { after: '1h' } as const;

const node = new OneNode();

/** Notes how many rows each statement touches; while there is a row in `held`, none ends. */
beforeAll(() =>
  node.sql(`
    CREATE TABLE held (statements boolean);
    CREATE TABLE statement (at timestamptz DEFAULT clock_timestamp(), size int);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      WHILE EXISTS (SELECT FROM public.held) LOOP
        PERFORM pg_sleep(0.001);
      END LOOP;
      INSERT INTO public.statement (size) SELECT count(*) FROM touched HAVING count(*) > 0;
      RETURN NULL;
    END $$;
    CREATE TRIGGER note_insert AFTER INSERT ON delay_queue.delay REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION note();
    CREATE TRIGGER note_delete AFTER DELETE ON delay_queue.delay REFERENCING OLD TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION note()`),
);

beforeEach(() => node.sql('TRUNCATE statement'));

const sizes = async (): Promise<number[]> =>
  (await node.sql<{ size: number }>('SELECT size FROM statement ORDER BY at')).map(
    ({ size }) => size,
  );

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
  // With a key, without one, and of the twenty that are to be cancelled those that there are.
  expect(await sizes()).toEqual([10, 10, 10]);
});

it('what gathers behind the statements in flight makes the next one', async () => {
  await node.sql('INSERT INTO held VALUES (true)');
  const calls: Promise<unknown>[] = [];
  for (const key of keys(6)) {
    calls.push(schedule(key));
    await turn();
    await turn();
  }
  await node.sql('DELETE FROM held');
  await Promise.all(calls);
  // The third begins when the first has ended, and may end before the second.
  expect((await sizes()).toSorted((a, b) => a - b)).toEqual([1, 1, 4]);
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
