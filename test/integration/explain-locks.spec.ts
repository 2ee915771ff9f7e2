import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Provider } from '@nestjs/common';
import {
  type DelayExplanation,
  DelayHealth,
  type HealthReport,
  type OnDelayOptions,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import { Client } from 'pg';
import { type DelayNode, fencedHandler, plainHandler } from '../support/delay-node.js';
import { occupyAttempts } from '../support/attempt-sessions.js';
import { until } from '../support/until.js';
import { Stage } from './engine/support/stage.js';
import { Engine, RESOLVED_OPTIONS } from '../support/engine-parts.js';

/**
 * What really holds a delay, planted from outside, one and in pairs: what `explain`, the health of its
 * node and the error of its timeout say of it.
 */

let stage: Stage;
let node: DelayNode;
let holds: (() => Promise<unknown>)[];

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql('CREATE TABLE bills AS SELECT generate_series(1, 3) AS id, 0 AS n');
  holds = [];
});

afterEach(async () => {
  await lift();
  await stage.close({ force: true });
});

/** Ends all that was planted. */
async function lift(): Promise<void> {
  for (const end of holds.splice(0)) await end();
}

const POOL = 8;
const TIMEOUT: OnDelayOptions = { timeout: '4s', backoff: () => 3_600_000 };

const update = (id: number): string => `UPDATE bills SET n = n + 1 WHERE id = ${id}`;

/** By key: what a handler does, whether it is plain, and what its error says. */
const HANDLERS: Record<
  string,
  { act: (ctx: Partial<TransactionalDelayContext>) => Promise<unknown>; is: string; error: RegExp }
> = {
  'waits for a row of another': {
    act: ({ manager }) => manager!.query(update(1)),
    is: 'attempt operator',
    error: /; its transaction waited for a lock that session \d+ \(operator, idle in transaction/,
  },
  'waits for an advisory lock': {
    act: ({ manager }) => manager!.query('SELECT pg_advisory_xact_lock(42)'),
    is: 'attempt operator',
    error: /; its transaction waited for a lock that session \d+ \(operator, idle in transaction/,
  },
  'waits for itself': {
    act: async ({ manager }) => {
      await manager!.query(update(2));
      await node.dataSource.query(update(2));
    },
    is: 'self null',
    error:
      /of this process waited for a lock that the attempt's own transaction holds: .* ctx\.manager/,
  },
};

const actByKey = ({ key }: { key: string | null }, ctx: object): Promise<unknown> =>
  HANDLERS[key!]!.act(ctx);

async function waitsForItself(): Promise<void> {
  await node.dataSource.transaction(async (manager) => {
    await manager.query(update(3));
    await node.dataSource.query(update(3));
  });
}

/** A session of an operator, whose transaction stays open. */
async function operator(...statements: string[]): Promise<void> {
  const client = new Client({ connectionString: stage.url, application_name: 'operator' });
  await client.connect();
  holds.push(() => client.end());
  await client.query('BEGIN');
  for (const statement of statements) await client.query(statement);
}

/** What is younger than a second may be a claim. */
const operatorsAreOld = (): Promise<unknown> =>
  stage.until<{ old: boolean }>(
    `SELECT xact_start < clock_timestamp() - interval '1 second' AS old FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'operator'`,
    (rows) => rows.every(({ old }) => old),
  );

async function usedUp(): Promise<void> {
  const release = await occupyAttempts(node, POOL);
  holds.push(async () => release());
}

async function start(...providers: Provider[]): Promise<void> {
  const options = { nodeName: 'here', history: { attempts: true, keep: '1h' } } as const;
  node = await stage.start({ poolMax: POOL, options, providers });
}

const schedule = (key: string): Promise<unknown> =>
  node.delays.schedule('test.held', null, { after: 0, key });

const told = ({ also, ...first }: DelayExplanation): string[] =>
  [first, ...also].map((cause) =>
    cause.reason === 'locked' ? `locked ${cause.what} ${cause.application}` : cause.reason,
  );

const isTold = (key: string, ...wanted: string[]): Promise<DelayExplanation> =>
  until(
    () => node.admin.explain('test.held', key),
    (now) => told(now).join() === wanted.join(),
    { what: `${key} to be ${wanted.join()}` },
  );

/** By a process that knows only what the database says. */
async function toldElsewhere(key: string): Promise<string[]> {
  const other = await stage.start({ options: { nodeName: 'elsewhere', worker: false } });
  return told(await other.admin.explain('test.held', key));
}

const isLate = (): Promise<HealthReport> =>
  until(
    () =>
      new DelayHealth(node.app.get(Engine), node.events, node.app.get(RESOLVED_OPTIONS)).check({
        lateAfter: '1s',
      }),
    ({ reasons }) => reasons.some(({ reason }) => reason === 'late'),
  );

it('a due row in an open transaction of another session is told as held, with a pause and a used-up pool beside it, and runs once it is free', async () => {
  const rows = {
    locked: `SELECT FROM delay_queue.delay WHERE key = 'locked' FOR UPDATE`,
    cancelled: `SELECT delay_queue.cancel_one('test.held', 'cancelled', NULL)`,
    changed: `UPDATE delay_queue.delay SET headers = '{}' WHERE key = 'changed'`,
  };
  await start(fencedHandler('test.held', () => {}));
  await node.admin.pause('test.held');
  for (const [key, statement] of Object.entries(rows)) {
    await schedule(key);
    await operator(statement);
  }
  await operatorsAreOld();
  for (const key of Object.keys(rows)) await isTold(key, 'paused', 'locked row operator');
  await node.admin.resume('test.held');
  await usedUp();
  for (const key of Object.keys(rows)) {
    const { text } = await isTold(key, 'locked row operator');
    expect(text).toMatch(/^session \d+ \(operator, idle in transaction, transaction age /);
  }
  await isLate();
  expect(await toldElsewhere('locked')).toEqual(['locked row operator']);
  await lift();
  await stage.noneLeft();
});

it('a delay whose transaction gets no session is claimed, not running, as its node explains; another node knows only that it is held', async () => {
  await start(fencedHandler('test.held', () => {}));
  await usedUp();
  await schedule('waits');
  const { text } = await isTold('waits', 'claimed');
  expect(text).toMatch(/its handler has not been called: it waits for a session/);
  expect(await toldElsewhere('waits')).toEqual(['running']);
  // Its row is held as well: whose lock that is, only the node that holds it can tell.
  await until(
    async () => {
      await operator(`SELECT FROM delay_queue.delay WHERE leased_until > now() FOR UPDATE`);
      await operatorsAreOld();
      return told(await node.admin.explain('test.held', 'waits'));
    },
    (now) => now.join() === 'claimed,locked row operator',
  );
  await lift();
  await stage.noneLeft();
});

it('a handler that waits for a lock is told with who holds it, also when that is itself, and so is the error of its timeout', async () => {
  await start(fencedHandler('test.held', actByKey as never, TIMEOUT));
  await operator(update(1), 'SELECT pg_advisory_xact_lock(42)');
  const errors = new Map<string, string>();
  node.events.on('retrying', ({ key, error }) => errors.set(key!, error));
  for (const key of Object.keys(HANDLERS)) await schedule(key);
  for (const [key, { is }] of Object.entries(HANDLERS))
    await isTold(key, 'running', `locked ${is}`);
  expect(await toldElsewhere('waits for itself')).toEqual(['running']);
  await until(
    () => errors.size,
    (size) => size === Object.keys(HANDLERS).length,
  );
  for (const [key, { error }] of Object.entries(HANDLERS)) {
    expect(errors.get(key)).toMatch(error);
    expect(errors.get(key)).not.toContain('bills');
  }
});

it('a plain handler that waits for itself on two connections is told so by its node; one that waits for no lock is not', async () => {
  await start(
    plainHandler('test.held', waitsForItself, TIMEOUT),
    plainHandler('test.hangs', () => new Promise(() => {}), TIMEOUT),
  );
  const failed = node.next('retrying', ({ name }) => name === 'test.held');
  const hung = node.next('retrying', ({ name }) => name === 'test.hangs');
  await node.delays.schedule('test.hangs', null, { after: 0, key: 'hangs' });
  expect((await hung).error).toMatch(/did not end within 4000 ms$/);
  await schedule('waits for itself');
  await isTold('waits for itself', 'running', 'locked attempt null');
  expect((await failed).error).toMatch(
    /; meanwhile session \d+ .*of this process waited for a lock that session \d+ .* of this process holds: .*use one manager/,
  );
});
