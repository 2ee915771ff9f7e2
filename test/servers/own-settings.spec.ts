import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DelayAdmin, DelayHealth } from 'nestjs-delay-queue';

import { commandLine } from '../integration/command-line/support/command-line.js';
import { DashboardApp } from '../support/dashboard-app.js';
import { fencedHandler, plainHandler } from '../support/delay-node.js';
import { until } from '../support/until.js';
import { OwnServer } from './support/own-server.js';
import { COMMANDS } from '../support/command-line.js';
import {
  findSql,
  historySql,
  pausesSql,
  qualifiedTables,
  removeOneSql,
  scheduleAllNewSql,
} from '../support/statements.js';

/**
 * Each statement of ours that the server plans, in whatever session, with the settings that it is
 * planned with: the server itself tells. Postgres compiles what it plans with `jit = on`, its default.
 */
const SCHEMA = 'delay_queue';
const LOG = 'planned';
const READ_LOG = `SELECT pg_read_file('log/${LOG}') AS log`;

const TABLES = qualifiedTables(SCHEMA);

const squeezed = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/**
 * They read a few rows by an index, for an attempt or a call, or insert at most 10,000 and read none:
 * their cost stays below `jit_above_cost`, and one more round trip would cost more.
 */
const CHEAP = [
  removeOneSql(TABLES, 'attempts'),
  findSql(TABLES),
  historySql(TABLES),
  pausesSql(TABLES),
  scheduleAllNewSql(TABLES),
  // Of `checkIds`, before a session is known to be ours.
  'SELECT pg_catalog.has_sequence_privilege(',
].map(squeezed);

let server: OwnServer;
let app: DashboardApp;
let looks = 0;

beforeAll(async () => {
  server = await OwnServer.create({
    fsync: 'off',
    shared_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': 0,
    'auto_explain.log_format': 'json',
    'auto_explain.log_settings': 'on',
    logging_collector: 'on',
    log_filename: LOG,
    log_line_prefix: '[%a]',
  });
  await server.start();
  await server.migrate();
  app = await DashboardApp.start({
    url: server.url,
    database: { url: server.url, applicationName: 'the application' },
    providers: [
      plainHandler('test.plain', () => {}),
      fencedHandler('test.fenced', () => {}),
      fencedHandler('test.fails', () => Promise.reject(new Error('no')), { maxAttempts: 1 }),
    ],
    options: { history: { attempts: true } },
  });
  const ended = (event: 'completed' | 'dead', name: string): Promise<unknown> =>
    new Promise((resolve) => app.events.on(event, (of) => of.name === name && resolve(of)));
  const all = [
    ended('completed', 'test.plain'),
    ended('completed', 'test.fenced'),
    ended('dead', 'test.fails'),
  ];
  for (const name of ['test.plain', 'test.fenced', 'test.fails'] as const) {
    await app.delays.schedule(name, null, { after: 0, key: 'k' });
  }
  await app.delays.schedule('test.idle', null, { after: '1h', key: 'k', group: 'g' });
  await Promise.all(all);
});

afterAll(async () => {
  await app?.stop();
  await server?.remove();
});

interface Planned {
  application: string;
  text: string;
  /** Of those that the planner reads, the ones that are not as Postgres ships them. */
  settings: Record<string, string>;
}

/** What mentions a table of ours, by now. */
async function planned(): Promise<Planned[]> {
  looks += 1;
  // Logged behind all that has been answered.
  await server.sql(`SELECT '${looks} looks'`);
  const log = await until(
    async () => (await server.sql<{ log: string }>(READ_LOG))[0]!.log,
    (text) => text.includes(`${looks} looks`),
    { tell: () => 'a log without the last look' },
  );
  const plans = log.matchAll(/^\[(.*)\]LOG: {2}duration: .* plan:\n((?:\t.*\n)+)/gm);
  return [...plans]
    .map(([, application = '', body = '']) => {
      const plan = JSON.parse(body.replaceAll(/^\t/gm, '')) as Record<string, unknown>;
      const settings = (plan['Settings'] ?? {}) as Record<string, string>;
      return { application, text: squeezed(String(plan['Query Text'])), settings };
    })
    .filter(({ text }) => text.includes(`"${SCHEMA}".`));
}

/** Of all of ours, those that `auto_explain` tells of. */
const OURS = {
  enable_seqscan: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: '0',
  search_path: 'pg_catalog, pg_temp',
};

/** Changes match nothing. */
const ADMIN: Readonly<Record<string, (admin: DelayAdmin) => Promise<unknown>>> = {
  list: async (admin) => [await admin.list({}), await admin.list({ state: 'completed' })],
  count: async (admin) => [await admin.count({}), await admin.count({ state: 'completed' })],
  history: (admin) => admin.history({}),
  story: (admin) => admin.story('k'),
  explain: async (admin) => [
    await admin.explain('test.idle', 'k'),
    await admin.explain({ id: '1' }),
  ],
  stats: (admin) => admin.stats(),
  groupStats: (admin) => admin.groupStats(),
  cancel: (admin) => admin.cancel({ name: 'test.none' }),
  reschedule: (admin) => admin.reschedule({ name: 'test.none' }, { after: '1h' }),
  runNow: (admin) => admin.runNow({ name: 'test.none' }),
  retryDead: (admin) => admin.retryDead({ name: 'test.none' }),
  discardDead: (admin) => admin.discardDead({ name: 'test.none' }),
  erase: (admin) => admin.erase({ key: 'none' }),
};

/** Writes of one row. */
const OF_ONE_ROW = ['constructor', 'pause', 'resume'];

const GET = ['overview', 'search?q=k', 'delay?id=4', 'story?key=k', 'dead', 'names', 'operations'];

const COMMAND: Readonly<Record<string, string[]>> = {
  status: [],
  list: [],
  explain: ['test.idle', 'k'],
  story: ['k'],
  nodes: [],
  doctor: [],
  cancel: ['--name', 'test.none', '--yes'],
  retry: ['--name', 'test.none', '--yes'],
  'run-now': ['--name', 'test.none', '--yes'],
  reschedule: ['--name', 'test.none', '--after', '1h', '--yes'],
  erase: ['--key', 'none', '--yes'],
};

/** They serve a dashboard, write one row, or make tables. */
const OTHER_COMMANDS = ['dashboard', 'pause', 'resume', 'migrate'];

it('the walk knows every method and every command', () => {
  const methods = Object.getOwnPropertyNames(DelayAdmin.prototype);
  expect([...Object.keys(ADMIN), ...OF_ONE_ROW].toSorted()).toEqual(methods.toSorted());
  const commands = [...Object.keys(COMMAND), ...OTHER_COMMANDS];
  expect(commands.toSorted()).toEqual(Object.keys(COMMANDS).toSorted());
});

it('every statement about many rows is planned without JIT, and with all settings in our own sessions', async () => {
  await app.app.get(DelayHealth).check();
  for (const call of Object.values(ADMIN)) await call(app.admin);
  const many = [{ name: 'test.idle', payload: null, after: '1h', key: 'many' }] as const;
  for (const verdict of ['scheduled', 'replaced']) {
    expect(await app.delays.scheduleMany([...many])).toMatchObject([{ verdict }]);
  }
  for (const path of GET) {
    expect(await app.get(`api/${path}`)).toMatchObject({ status: 200 });
  }
  for (const [command, args] of Object.entries(COMMAND)) {
    expect(await commandLine(server.url, [command, ...args])).toMatchObject({ exitCode: 0 });
  }
  const all = (await planned()).filter(({ text }) => !CHEAP.some((cheap) => text.includes(cheap)));
  const compiled = all.filter(({ settings: { jit } }) => jit !== 'off');
  expect(compiled.map(({ application, text }) => `${application}: ${text}`)).toEqual([]);
  for (const own of [/^delay-queue /, / dashboard$/]) {
    const planner = all.filter(({ application }) => own.test(application));
    expect(planner.length).toBeGreaterThan(5);
    for (const { settings } of planner) expect(settings).toMatchObject(OURS);
  }
});
