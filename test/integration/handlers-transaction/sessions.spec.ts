import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Duration } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { openProxy, type PostgresProxy } from '../../chaos/proxy/proxy.js';
import { type DelayNode, fencedHandler, type NodeSetup, signal } from '../../support/delay-node.js';
import { Stage } from '../engine/support/stage.js';
import { EngineConnections } from '../../support/engine-parts.js';

/** Attempts run on sessions of the engine's own, each of which may end at any moment. */
const NAME = 'test.fenced';

let stage: Stage;
let proxy: PostgresProxy;
/** What became of attempts, in order. */
let told: string[];

beforeEach(async () => {
  stage = await Stage.open();
  proxy = await openProxy(stage.url);
  told = [];
  await stage.sql('CREATE TABLE effect (key text NOT NULL)');
});

afterEach(async () => {
  await stage.close();
  await proxy.close();
});

const write = (manager: EntityManager, key: string | null): Promise<unknown> =>
  manager.query('INSERT INTO effect VALUES ($1)', [key]);

const writes = fencedHandler(NAME, async ({ key }, { manager }) => {
  await write(manager, key);
});

async function start(setup: Partial<NodeSetup> = {}): Promise<DelayNode> {
  const own = signal();
  stage.parts.intercept(EngineConnections, 'prepareStatements', ({ real }) => {
    real();
    own.resolve();
  });
  // A row that is left with its lease would not come back within a test.
  const options = { lease: '10m', ...setup.options } as const;
  const node = await stage.start({ providers: [writes], ...setup, options });
  for (const event of ['completed', 'lost', 'retrying', 'dead', 'superseded'] as const) {
    node.events.on(event, ({ attempt }) => told.push(`${event} ${attempt}`));
  }
  // Until then BEGIN goes alone.
  await own.promise;
  return node;
}

const throughProxy = (): Promise<DelayNode> => start({ database: { url: proxy.url } });

const effects = (): Promise<{ key: string }[]> => stage.sql('SELECT key FROM effect');

/** Runs one delay; resolves when one of its attempts has completed. */
async function run(node: DelayNode, maxAttempts = 1): Promise<void> {
  const completed = node.next('completed');
  await node.delays.schedule(NAME, null, { after: 0, key: 'k', maxAttempts });
  await completed;
}

it('an application that has taken every connection of its pool stops no handler', async () => {
  const node = await start({ poolMax: 2 });
  const runners = [1, 2].map(() => node.dataSource.createQueryRunner());
  await Promise.all(runners.map((runner) => runner.connect()));
  await run(node);
  await Promise.all(runners.map((runner) => runner.release()));
  expect(await effects()).toEqual([{ key: 'k' }]);
});

/** How long its transactions may be idle, in milliseconds. */
const limits: number[] = [];

const asks = (name: 'test.fenced' | 'test.long', timeout: Duration) =>
  fencedHandler(
    name,
    async (_, { manager }) => {
      const [{ setting }] = await manager.query(
        `SELECT setting::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`,
      );
      limits.push(setting);
    },
    { timeout },
  );

it('a session that has run attempts before it has proven to be its own is limited like any other', async () => {
  const proven = signal<() => void>();
  stage.parts.intercept(EngineConnections, 'prepareStatements', ({ real }) => proven.resolve(real));
  const options = { lease: '10m', transactionalConnections: 1 } as const;
  const node = await stage.start({ providers: [asks(NAME, '30s')], options });
  await run(node);
  (await proven.promise)();
  await run(node);
  expect(limits.splice(0)).toEqual([600_000, 600_000]);
});

it('its transaction may be idle for as long as its lease lasts, and no longer', async () => {
  const providers = [asks('test.fenced', '30s'), asks('test.long', '20m')];
  const node = await start({ providers, options: { transactionalConnections: 1 } });
  for (const name of ['test.fenced', 'test.long', 'test.fenced'] as const) {
    const completed = node.next('completed');
    await node.delays.schedule(name, null, { after: 0, key: 'k' });
    await completed;
  }
  expect(limits.splice(0)).toEqual([600_000, 1_200_500, 600_000]);
});

it('an application can destroy its DataSource while a handler runs, which goes on', async () => {
  const [began, goOn] = [signal(), signal()];
  const waits = fencedHandler(NAME, async ({ key }, { manager }) => {
    await write(manager, key);
    began.resolve();
    await goOn.promise;
    await write(manager, key);
  });
  const node = await start({ providers: [waits] });
  const ran = run(node);
  await began.promise;
  await node.dataSource.destroy();
  goOn.resolve();
  await ran;
  expect(await effects()).toEqual([{ key: 'k' }, { key: 'k' }]);
  await node.dataSource.initialize();
});

it('the statement of a handler ends on the server when the attempt does', async () => {
  const sleeps = fencedHandler(
    NAME,
    ({ key }, { manager }) =>
      write(manager, key)
        .then(() => manager.query('SELECT pg_sleep(600)'))
        .then(() => {}),
    { timeout: 200 },
  );
  const node = await start({ providers: [sleeps] });
  const dead = node.next('dead');
  await node.delays.schedule(NAME, null, { after: 0, key: 'k', maxAttempts: 1 });
  await dead;
  const left = await stage.until(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_sleep(600)' AND state = 'active' AND pid <> pg_backend_pid()`,
    (rows) => rows.length === 0,
  );
  expect(left).toEqual([]);
});

it.each([
  ['its first statement', writes, [{ key: 'k' }]],
  ['its end, without a statement of its own', fencedHandler(NAME, () => {}), []],
])(
  'a session that had ended before its transaction began costs no attempt, found out by %s',
  async (_, handler, written) => {
    const node = await start({ database: { url: proxy.url }, providers: [handler] });
    // Its session is known from then on.
    await run(node);
    await stage.sql('TRUNCATE effect');
    const ended = proxy.endAt('START TRANSACTION', 'FATAL', 'XX000');
    await run(node);
    await ended;
    expect(told).toEqual(['completed 1', 'completed 1']);
    expect(await effects()).toEqual(written);
  },
);

it('a statement that `pg` itself refuses costs one', async () => {
  const value = {
    toPostgres: (): never => {
      throw new Error('no value');
    },
  };
  const handler = fencedHandler(NAME, async (_delay, { manager }) => {
    await manager.query('INSERT INTO effect VALUES ($1)', [value]);
  });
  const node = await start({ providers: [handler] });
  const dead = node.next('dead');
  await node.delays.schedule(NAME, null, { after: 0, maxAttempts: 1 });
  expect(await dead).toMatchObject({ error: expect.stringMatching(/no value/) });
});

it('an attempt whose COMMIT has happened and was not answered has completed', async () => {
  const node = await throughProxy();
  const ended = proxy.endAt('COMMIT\0', 'FATAL', 'XX000');
  await run(node);
  await ended;
  expect(told).toEqual(['completed 1']);
  expect(await effects()).toEqual([{ key: 'k' }]);
});

it('an attempt whose COMMIT never reached the server has not', async () => {
  const node = await throughProxy();
  proxy.cutBeforeCommit();
  await run(node, 2);
  expect(told).toEqual(['retrying 1', 'completed 2']);
  expect(await effects()).toEqual([{ key: 'k' }]);
});
