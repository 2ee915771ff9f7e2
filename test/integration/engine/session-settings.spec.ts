import { expect, it } from '@jest/globals';
import { Client, type ClientConfig } from 'pg';
import { plainHandler, signal } from '../../support/delay-node.js';
import { OF_THIS_DATABASE } from '../../support/of-this-database.js';
import { until } from '../../support/until.js';
import { AdviceWatch } from './support/advice-watch.js';
import { stageOfEach } from './support/stage-of-each.js';
import { EngineConnections } from '../../support/engine-parts.js';
import { engineSettings } from '../../support/statements.js';

/** What an administrator may have set for a role or a database; each once hurt. */
const HOSTILE: Record<string, string> = {
  enable_seqscan: 'on',
  plan_cache_mode: 'force_custom_plan',
  jit: 'on',
  max_parallel_workers_per_gather: '4',
  // The checks of the start run under these, and take a second on a busy machine.
  statement_timeout: '9000',
  transaction_timeout: '9000',
  lock_timeout: '20',
  idle_session_timeout: '60000',
  idle_in_transaction_session_timeout: '60000',
  array_nulls: 'off',
  DateStyle: 'SQL, DMY',
  extra_float_digits: '-3',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  transform_null_equals: 'on',
  search_path: 'public',
};

/** Of the engine, which waits for 15 s; as `SHOW` has it. */
const OURS = { ...engineSettings(15_000), statement_timeout: '10s' } as Record<string, string>;

/** Off on sessions that look for single rows. */
const BY_KEY = 'enable_bitmapscan';

const stage = stageOfEach();

/** Every client that pools and listeners make. */
class Witnessed extends Client {
  static readonly all: { client: Client; config: ClientConfig }[] = [];

  constructor(config: ClientConfig = {}) {
    super(config);
    Witnessed.all.push({ client: this, config });
    this.once('end', () => {
      Witnessed.all.splice(
        Witnessed.all.findIndex(({ client }) => client === this),
        1,
      );
    });
  }
}

/** Those of the engine, its listener, and those for callers: only ours are kept alive like that. */
const ours = (): Client[] =>
  Witnessed.all.filter(({ config }) => config.keepAlive === true).map(({ client }) => client);

async function known(names: readonly string[]): Promise<string[]> {
  const rows = await stage.sql<{ name: string }>(
    `SELECT name FROM pg_settings WHERE name = ANY ($1)`,
    [names],
  );
  return rows.map(({ name }) => name).toSorted();
}

async function settingsOf(
  client: Client,
  names: readonly string[],
): Promise<Record<string, string>> {
  const { rows } = await client.query<{ name: string; value: string }>(
    `SELECT name, current_setting(name) AS value FROM pg_settings WHERE name = ANY ($1)`,
    [names],
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

it('each of our sessions brings its own, whatever the database says, also after it broke', async () => {
  const names = await known(Object.keys(HOSTILE));
  expect(names.length).toBeGreaterThanOrEqual(Object.keys(HOSTILE).length - 1);
  await stage.set(Object.fromEntries(names.map((name) => [name, HOSTILE[name] ?? ''])));
  const ran = signal();
  const node = await stage.start({
    database: { url: stage.url, extra: { max: 5, Client: Witnessed } },
    providers: [plainHandler('test.a', () => ran.resolve())],
  });
  await node.delays.schedule('test.a', { n: 1 }, { after: 0, key: 'k' });
  await ran.promise;
  const back = node.next('taskRecovered', ({ task }) => task === 'listen');
  await stage.sql(
    `SELECT pg_terminate_backend(l.pid) FROM pg_locks l
     WHERE locktype = 'advisory' AND ${OF_THIS_DATABASE}`,
  );
  await back;
  // The engine, those who write for callers, the listener. Those for callers come when it is proven that sessions stay.
  await until(
    async () => {
      await node.delays.cancel('test.a', 'nobody');
      const all = await Promise.all(ours().map((client) => settingsOf(client, [BY_KEY])));
      return all.map((settings) => settings[BY_KEY]);
    },
    (kinds) => kinds.includes('off') && kinds.includes('on'),
  );
  const sessions = ours();
  expect(sessions.length).toBeGreaterThanOrEqual(3);
  const expected = Object.fromEntries(names.map((name) => [name, OURS[name]]));
  for (const client of sessions) expect(await settingsOf(client, names)).toEqual(expected);
});

it('where sessions are not our own nothing is set on them, and limits that hurt are told', async () => {
  await stage.set({ statement_timeout: '4s', jit: 'on' });
  // As behind a pooler in transaction mode: what is said on the channel is not heard.
  stage.parts.intercept(EngineConnections, 'query', async ({ real, given: [sql] }) =>
    sql.includes('pg_notify') ? [] : real(),
  );
  const { advice, provider: watch } = new AdviceWatch();
  await stage.start({
    database: { url: stage.url, extra: { max: 5, Client: Witnessed } },
    providers: [watch, plainHandler('test.a', () => {})],
  });
  expect(advice).toEqual([
    expect.stringContaining('LISTEN does not work'),
    expect.stringContaining('statement_timeout = 4000 ms on this role ends statements'),
  ]);
  const sessions = ours();
  expect(sessions.length).toBeGreaterThan(0);
  for (const client of sessions) {
    expect(await settingsOf(client, ['statement_timeout', 'jit'])).toEqual({
      statement_timeout: '4s',
      jit: 'on',
    });
  }
});
