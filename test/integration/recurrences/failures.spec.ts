import { beforeEach, describe, expect, it } from '@jest/globals';
import {
  type DeadDelayContext,
  type Delay,
  type DelayRecord,
  DiscardDelay,
  OnDeadDelay,
  OnDelay,
} from 'nestjs-delay-queue';
import { fencedHandler, plainHandler } from '../../support/delay-node.js';
import { OneNode } from '../../support/one-node.js';
import { until } from '../../support/until.js';

type TestName = `test.${string}`;

const KEY = 'repeat';
const HOUR = 3_600_000;

let fails: () => void;
/** The attempts that have begun. */
let calls: number;

const attempt = (): void => {
  calls += 1;
  fails();
};

class ExhaustedDelay {
  @OnDelay('test.dying', { maxAttempts: 1 })
  run(): void {
    attempt();
  }

  @OnDeadDelay('test.dying')
  async dead({ dueAt }: Delay<'test.dying'>, { manager, error }: DeadDelayContext): Promise<void> {
    await manager.query('INSERT INTO told VALUES ($1, $2)', [dueAt, error]);
  }
}

const PLAIN = plainHandler('test.plain', attempt, { maxAttempts: 2 });
const node = new OneNode({
  providers: [PLAIN, fencedHandler('test.fenced', attempt, { maxAttempts: 2 }), ExhaustedDelay],
});

beforeEach(() => {
  calls = 0;
  fails = () => {
    throw new Error('no');
  };
});

const schedule = (name: TestName) =>
  node.delays.schedule(name, null, { key: KEY, repeat: { every: '1h' } });

/** Until it waits for its next instant as if nothing had been. @returns how the one before it ended */
async function goesOn(name: TestName, dueAt: Date): Promise<DelayRecord[]> {
  const ends = await until(
    () => node.delays.history(name, KEY),
    ({ length }) => length > 0,
  );
  expect(await node.delays.find(name, KEY)).toMatchObject({
    state: 'scheduled',
    dueAt,
    attempts: 0,
    lastError: null,
    repeat: { every: HOUR, catchUp: 'latest' },
  });
  return ends;
}

/** Runs now, by hand: it goes on with its first regular instant. */
async function runs(name: TestName): Promise<DelayRecord[]> {
  const { dueAt } = await schedule(name);
  await node.admin.runNow([{ name, key: KEY }]);
  return goesOn(name, dueAt);
}

describe.each(['test.plain', 'test.fenced'] as const)('an occurrence of %s', (name) => {
  it('whose attempts are exhausted is told as dead, and the next one comes', async () => {
    const dead = node.next('dead');
    expect(await runs(name)).toMatchObject([
      { state: 'discarded', attempts: 2, error: 'Error: no', latenessMs: null },
    ]);
    expect(await dead).toMatchObject({ name, key: KEY, attempt: 2, error: 'Error: no' });
  });

  it('that is discarded ends as discarded, and the next one comes', async () => {
    fails = () => {
      throw new DiscardDelay('not today');
    };
    expect(await runs(name)).toMatchObject([
      { state: 'discarded', attempts: 1, error: 'not today' },
    ]);
  });
});

it.each([
  ['an attempt that failed', 1],
  ['no attempt', 0],
])('late by more than a minute, after %s, `none` runs %d times', async (_, attempts) => {
  const name = 'test.plain';
  fails = () => {};
  const repeat = { every: '1h', catchUp: 'none' } as const;
  const { dueAt } = await node.delays.schedule(name, null, { key: KEY, repeat });
  await node.sql(
    `UPDATE delay_queue.delay SET due_at = clock_timestamp() - interval '2 min', attempts = $1,
                                  wake_at = clock_timestamp() - interval '1 min'`,
    [attempts],
  );
  // Finds at its start what is overdue.
  const other = await node.start({ providers: [PLAIN] });
  const next = await until(
    () => node.delays.find(name, KEY),
    (found) => found?.dueAt.getTime() === dueAt.getTime(),
  );
  expect(next).toMatchObject({ state: 'scheduled', attempts: 0 });
  expect(calls).toBe(attempts);
  const ends = await node.delays.history(name, KEY);
  expect(ends.map(({ state }) => state)).toEqual(Array(attempts).fill('completed'));
  await other.stop();
});

it('one whose process died at its last attempt is told as dead, and the next one comes', async () => {
  const { dueAt } = await schedule('test.plain');
  // As that claim has left it, in one statement: between two a scan of this node may take the row.
  await node.sql(
    `UPDATE delay_queue.delay
     SET due_at = clock_timestamp() - interval '1 min', wake_at = clock_timestamp() - interval '1 min',
         attempts = 2, epoch = epoch + 1, leased_by = 'other-node', leased_until = clock_timestamp()`,
  );
  // Finds at its start what is overdue.
  const other = await node.start({ providers: [PLAIN] });
  expect(await goesOn('test.plain', dueAt)).toMatchObject([
    {
      state: 'discarded',
      attempts: 2,
      node: 'other-node',
      error: expect.stringContaining('attempts exhausted'),
    },
  ]);
  expect(calls).toBe(0);
  await other.stop();
});

it('a way to recur that cannot be read becomes a dead letter when the attempts are used up', async () => {
  await schedule('test.plain');
  await node.sql(`UPDATE delay_queue.delay SET repeat = '{"cron": "?!", "catchUp": "each"}'`);
  await node.admin.runNow([{ name: 'test.plain', key: KEY }]);
  const dead = await until(
    () => node.delays.find('test.plain', KEY),
    (delay) => delay?.state === 'dead',
  );
  expect(dead?.lastError).toMatch(/cannot read how the delay recurs/);
});

it('its @OnDeadDelay is called in the transaction in which it goes on', async () => {
  await node.sql('CREATE TABLE told (due timestamptz, error text)');
  const dead = node.next('dead');
  const [line] = await runs('test.dying');
  expect(line).toMatchObject({ state: 'discarded', error: 'Error: no' });
  expect(await dead).toMatchObject({ attempt: 1, error: 'Error: no' });
  expect(await node.sql('SELECT * FROM told')).toEqual([{ due: line?.dueAt, error: 'Error: no' }]);
});
