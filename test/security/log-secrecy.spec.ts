import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { DelayEvents, type DelayEventMap, DelayService, DiscardDelay } from 'nestjs-delay-queue';
import { Stage } from '../integration/engine/support/stage.js';
import { appModule, fencedHandler, plainHandler } from '../support/delay-node.js';
import { NodeProcess } from '../support/node-process.js';
import { until } from '../support/until.js';

/** Logs are read by more people than rows. */
const SECRET = 'secret4711';
const PASSWORD = 'password0815';

let stage: Stage;
let role: string;
let app: INestApplicationContext | undefined;

beforeEach(async () => {
  stage = await Stage.open();
  role = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  await stage.sql(`
    CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}';
    GRANT USAGE ON SCHEMA delay_queue TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA delay_queue TO ${role}`);
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  await stage.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await stage.close();
});

function urlOf(change: (url: URL) => void = () => {}): string {
  const url = new URL(stage.url);
  url.username = role;
  url.password = PASSWORD;
  change(url);
  return url.href;
}

const throwing = (error: Error) => (): never => {
  throw error;
};

const once = { maxAttempts: 1 };

/** Handlers that fail in every way. */
const FAILING = [
  plainHandler('test.hangs', () => new Promise(() => {}), { ...once, timeout: 100 }),
  plainHandler('test.discards', throwing(new DiscardDelay('no such order')), once),
  plainHandler(
    'test.refused',
    async ({ payload }) => {
      const more = { ...(payload as object), more: undefined };
      await app!.get(DelayService).schedule('test.h', more as never, { after: 1 });
    },
    once,
  ),
  plainHandler('test.brokenBackoff', throwing(new Error('no')), {
    maxAttempts: 1_000,
    backoff: throwing(new Error('no backoff')),
  }),
  fencedHandler(
    'test.sql',
    async ({ payload }, { manager }) => {
      // TypeORM's error carries its parameters, and Postgres's one the row, in fields of their own.
      const values = [SECRET, [JSON.stringify(payload)]];
      await manager.query('INSERT INTO delay_queue.node (id, names) VALUES ($1, $2)', values);
    },
    once,
  ),
  fencedHandler('test.hangsInSql', (_, { manager }) => manager.query('SELECT pg_sleep(60)'), {
    ...once,
    timeout: 100,
  }),
];
const NAMES = ['hangs', 'discards', 'refused', 'sql', 'hangsInSql'] as const;

it('whatever fails, no payload and no password is in a log line, an event or an error of the library', async () => {
  const lines: string[] = [];
  const note = (...said: unknown[]): void =>
    void lines.push(
      said.map((each) => (typeof each === 'string' ? each : inspect(each))).join(' '),
    );
  app = await NestFactory.createApplicationContext(
    appModule({ url: urlOf(), providers: FAILING }),
    {
      logger: { verbose: note, debug: note, log: note, warn: note, error: note, fatal: note },
      abortOnError: false,
    },
  );
  const events = app.get(DelayEvents);
  const told: unknown[] = [];
  const dead = new Set<string>();
  const ALL: (keyof DelayEventMap)[] = [
    'started',
    'retrying',
    'dead',
    'overrunning',
    'lost',
    'advice',
  ];
  for (const event of ALL) events.on(event, (data: object) => told.push([event, data]));
  events.on('dead', ({ name }) => dead.add(name));

  const payload = { card: SECRET, list: [SECRET], [`key ${SECRET}`]: 1 };
  await app.get(DelayService).scheduleMany(
    [...NAMES, 'brokenBackoff' as const].map((name) => ({
      name: `test.${name}` as const,
      payload,
      after: 0,
      key: name,
    })),
  );
  await until(
    () => dead.size,
    (size) => size === NAMES.length,
  );
  const says = (pattern: RegExp): Promise<unknown> =>
    until(
      () => lines.join('\n'),
      (text) => pattern.test(text),
    );
  // It says a lot, at all levels.
  await says(/is a dead letter after 1 attempts: no such order/);
  await says(/its backoff fails/);
  await says(/is over but its handler still runs/);
  await says(/payload\.more: is undefined/);

  // A database that turns the node away is a trouble in the log.
  await stage.sql(`ALTER ROLE ${role} NOLOGIN`);
  await stage.sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND usename = $1`,
    [role],
  );
  await says(/listen failed and is tried again/);
  const recovered = new Promise<void>((resolve) => {
    events.on('taskRecovered', ({ task }) => task === 'listen' && resolve());
  });
  await stage.sql(`ALTER ROLE ${role} LOGIN`);
  await recovered;
  await stage.sql('ALTER TABLE delay_queue.delay RENAME TO hidden');
  await says(/(?:sweep|load) failed and is tried again/);
  await stage.sql('ALTER TABLE delay_queue.hidden RENAME TO delay');

  expect(lines.join('\n')).not.toMatch(new RegExp(`${SECRET}|${PASSWORD}`));
  expect(inspect(told, { depth: Infinity })).not.toContain(SECRET);
  const rows = await stage.sql(
    'SELECT last_error FROM delay_queue.delay WHERE last_error IS NOT NULL',
  );
  expect(rows.length).toBeGreaterThan(4);
  expect(JSON.stringify(rows)).not.toContain(SECRET);
});

it.each<[what: string, make: () => string]>([
  ['a wrong password', () => urlOf((url) => (url.password = `${PASSWORD}-wrong`))],
  ['a port that is no port', () => urlOf().replace(/:\d+\//, ':notaport/')],
  ['a password that breaks the URL', () => `postgresql://${role}:${PASSWORD}/%@127.0.0.1:1/x`],
])('a shop that cannot use its database does not print the password: %s', async (_, make) => {
  const env = { DATABASE_URL: make(), PORT: '0', NO_COLOR: '1' };
  const shop = NodeProcess.start('src/main.ts', { env });
  expect(await shop.exited).toEqual({ code: 1, signal: null });
  expect(shop.output).toMatch(/\S/);
  expect(shop.output).not.toContain(PASSWORD);
});
