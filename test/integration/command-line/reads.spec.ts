import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { createEmptyDatabase } from '../../support/database.js';
import { codeBlocks, readDocument } from '../../docs/documents.js';
import { commandLine, document } from './support/command-line.js';
import { openDatabase } from './support/database.js';

const database = openDatabase();

beforeEach(() =>
  database.query(
    'TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.node, delay_queue.pause',
  ),
);

/** A row of `delay`, and of what is given. */
async function plant(columns: Record<string, unknown> = {}): Promise<string> {
  const row: Record<string, unknown> = {
    name: 'order.close',
    key: '42',
    payload: '{"secret": "of the customer"}',
    due_at: '2099-01-31T09:30:00Z',
    wake_at: columns['due_at'] ?? '2099-01-31T09:30:00Z',
    created_at: '2026-01-01T00:00:00Z',
    ...columns,
  };
  const names = Object.keys(row);
  const { rows } = await database.query<{ id: string }>(
    `INSERT INTO delay_queue.delay (${names.join()}) VALUES (${names.map((_, n) => `$${n + 1}`).join()}) RETURNING id::text`,
    Object.values(row),
  );
  return rows[0]!.id;
}

const plantNode = (id: string, names: string[]) =>
  database.query(
    `INSERT INTO delay_queue.node (id, names, present, started_at, seen_at)
     VALUES ($1, $2, false, clock_timestamp(), clock_timestamp())`,
    [id, names],
  );

describe('status', () => {
  it('counts, tells who serves, and what is paused', async () => {
    await plant();
    await plant({ key: '43', due_at: '2020-01-01T00:00:00Z' });
    await plant({ name: 'sms.send', wake_at: 'infinity', last_error: 'no' });
    await plantNode('node-1', ['order.close']);
    await database.query(
      `INSERT INTO delay_queue.pause (paused_at, until, name, group_id, reason) VALUES (clock_timestamp(), 'infinity', 'sms.send', 'g', 'down')`,
    );
    const { exitCode, out, err } = await commandLine(database.url, ['status']);
    expect({ exitCode, err }).toEqual({ exitCode: 0, err: '' });
    expect(out).toMatch(/^order\.close +2 +0 +0 +0 +1 +0 +0 +1 +[\d,]+ d .* 1$/m);
    expect(out).toMatch(/^sms\.send +0 +0 +0 +1 /m);
    expect(out).toContain('1 live node.');
    expect(out).toContain('No live node serves: sms.send.');
    expect(out).toMatch(/^sms\.send +g +\S+Z +resumed +- +down$/m);
    const { names } = await document(database.url, ['status']);
    expect(names).toHaveLength(2);
  });

  it('says that there is nothing', async () => {
    const { out } = await commandLine(database.url, ['status']);
    expect(out).toBe('No delays, and no node serves a name.\n\n0 live nodes.\n');
    expect((await commandLine(database.url, ['nodes'])).out).toBe('No live node.\n');
    expect((await commandLine(database.url, ['list'])).out).toBe('No live delay matches.\n');
    expect((await commandLine(database.url, ['story', '42'])).out).toMatch(/^No delay is known/);
  });
});

it('nodes lists those that live', async () => {
  await plantNode('node-1', ['order.close', 'sms.send']);
  const { out } = await commandLine(database.url, ['nodes']);
  expect(out).toMatch(/^node-1 +0 +\S+Z +\S+Z +order\.close, sms\.send$/m);
  expect(await document(database.url, ['nodes'])).toMatchObject({ nodes: [{ name: 'node-1' }] });
});

describe('list', () => {
  it('takes the filters, and ids, and pages', async () => {
    const ids = [];
    for (const key of ['a1', 'a2', 'b1']) ids.push(await plant({ key, headers: { tenant: key } }));
    const keys = async (...args: string[]) => {
      const { delays } = await document(database.url, ['list', ...args]);
      return delays.map(({ key }: { key: string }) => key);
    };
    expect(await keys()).toEqual(['a1', 'a2', 'b1']);
    expect(await keys('--key-prefix', 'a')).toEqual(['a1', 'a2']);
    expect(await keys('--header', 'tenant=b1')).toEqual(['b1']);
    expect(await keys('--name', 'order.close', '--state', 'dead')).toEqual([]);
    expect(await keys('--id', ids[2]!, '--id', ids[0]!, '--id', '999999')).toEqual(['b1', 'a1']);
    const { next } = await document(database.url, ['list', '--limit', '2']);
    expect(next).toBe(ids[1]);
    expect(await keys('--after', next)).toEqual(['b1']);
  });

  it('shows a payload only where it is asked for', async () => {
    await plant();
    for (const args of [['list'], ['list', '--json'], ['story', '42'], ['story', '42', '--json']]) {
      expect((await commandLine(database.url, args)).out).not.toContain('customer');
      expect((await commandLine(database.url, [...args, '--payload'])).out).toContain('customer');
    }
  });

  it('no key acts on a terminal, in a table or in JSON', async () => {
    const key = 'a\u001b[2J\u009b2J\r\n\u202e\u2028b';
    await plant({ key, group_id: key, last_error: key });
    for (const args of [['list'], ['story', key], ['list', '--json']]) {
      const { out } = await commandLine(database.url, args);
      for (const acting of ['\u001b', '\u009b', '\r', '\u202e', '\u2028'])
        expect(out).not.toContain(acting);
    }
    expect((await document(database.url, ['list'])).delays[0].key).toBe(key);
  });
});

it('story tells of live and ended delays, moves and attempts', async () => {
  const id = await plant({
    move_log: JSON.stringify([{ call: 'reschedule', atMs: 1e12, fromMs: 2e12, toMs: 3e12 }]),
    attempt_log: JSON.stringify([
      {
        attempt: 1,
        node: 'n1',
        startedMs: 2e12,
        endedMs: 2e12 + 5_000,
        outcome: 'failed',
        error: 'no stock',
      },
    ]),
  });
  await database.query(
    `INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key)
     VALUES (7, clock_timestamp(), clock_timestamp(), clock_timestamp(), 3, 1, 1, 'completed', 'order.close', '42')`,
  );
  const { out } = await commandLine(database.url, ['story', '42']);
  expect(out).toMatch(/^Live:\n/);
  expect(out).toContain(`Of ${id}:\n  2001-09-09T01:46:40.000Z  reschedule moved it from 2033`);
  expect(out).toContain('attempt 1 on n1: failed after 5 s, no stock');
  expect(out).toMatch(/^Ended:\n.*\n\S+ +7 +order\.close +42 +- +completed/m);
  const { delays, history, next } = await document(database.url, ['story', '--group', 'none']);
  expect({ delays, history, next }).toEqual({ delays: [], history: [], next: null });
});

describe('explain', () => {
  it('says why in one line, and in another what holds it as well', async () => {
    const id = await plant();
    const { exitCode, out } = await commandLine(database.url, ['explain', 'order.close', '42']);
    expect(exitCode).toBe(0);
    expect(out).toMatch(/^notDue: order\.close 42 is due in .*\nalso unserved: .*\n$/);
    const told = await document(database.url, ['explain', '--id', id]);
    expect(told).toMatchObject({ reason: 'notDue', id, dueAt: '2099-01-31T09:30:00.000Z' });
    const absent = await commandLine(database.url, ['explain', 'order.close', '\u001b[2J']);
    expect(absent.exitCode).toBe(3);
    expect(absent.out).toMatch(/^absent: /);
    expect(absent.out).not.toContain('\u001b');
  });
});

it('list shows ended delays by the state of their end', async () => {
  await database.query(
    `INSERT INTO delay_queue.history (id, ended_at, due_at, created_at, epoch, attempts, state, name, key)
     SELECT n, now() + n * interval '1 s', now(), now(), 1, 1, 'completed', 'order.close', n::text FROM generate_series(1, 3) n`,
  );
  const args = ['list', '--state', 'completed', '--name', 'order.close'];
  const { out } = await commandLine(database.url, args);
  expect(out).toMatch(/^ended .*\n\S+ +3 +order\.close +3 /);
  const first = await document(database.url, [...args, '--limit', '2']);
  const second = await document(database.url, [...args, '--limit', '2', '--after', first.next]);
  const keys = [...first.history, ...second.history].map(({ key }) => key);
  expect({ keys, next: second.next }).toEqual({ keys: ['3', '2', '1'], next: null });
  expect((await commandLine(database.url, ['list', '--state', 'cancelled'])).out).toBe(
    'No ended delay matches.\n',
  );
});

describe('a role that may only read, as operations.md makes it', () => {
  const role = `delay_queue_test_${randomBytes(5).toString('hex')}`;
  let url: string;

  beforeAll(async () => {
    const statements = codeBlocks(readDocument('docs/operations.md'), 'sql')
      .map(({ code }) => code)
      .find((code) => code.includes('CREATE ROLE shop_watch'));
    await database.query(statements!.replaceAll('shop_watch', role));
    const given = new URL(database.url);
    [given.username, given.password] = [role, 'change me as well'];
    url = given.href;
  });

  afterAll(() => database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`));

  it('is enough to read everything but payloads', async () => {
    await plant();
    for (const args of [
      ['status'],
      ['nodes'],
      ['list'],
      ['story', '42'],
      ['list', '--state', 'dead'],
      ['explain', 'order.close', '42'],
      ['doctor'],
    ]) {
      const { exitCode, err } = await commandLine(url, args);
      expect({ args, exitCode, err }).toEqual({ args, exitCode: 0, err: '' });
    }
    const { out } = await commandLine(url, ['doctor']);
    expect(out).not.toContain('could not be checked');
  });

  it('is told of the right that it lacks', async () => {
    await plant();
    const payloads = await commandLine(url, ['list', '--payload']);
    expect(payloads.exitCode).toBe(1);
    expect(payloads.err).toContain('a right is missing: permission denied for table delay. ');
    const cancelled = await commandLine(url, ['cancel', 'order.close', '42']);
    expect(cancelled.exitCode).toBe(1);
    expect(cancelled.err).toContain('a right is missing');
    expect(await database.query('SELECT FROM delay_queue.delay')).toMatchObject({ rowCount: 1 });
  });

  it('reads where nothing may be written', async () => {
    await database.query(`ALTER ROLE ${role} SET default_transaction_read_only = on`);
    expect((await commandLine(url, ['status'])).exitCode).toBe(0);
    await database.query(`ALTER ROLE ${role} RESET default_transaction_read_only`);
  });
});

const failing = (url: string, ...more: string[]) => commandLine(url, ['status', ...more]);

describe('what is wrong with the database is said', () => {
  it('tables that are missing', async () => {
    const { exitCode, err } = await failing(database.url, '--schema', 'other');
    expect(exitCode).toBe(1);
    expect(err).toContain('Create them with nestjs-delay-queue migrate --schema other');
  });

  it('no server, no such database, a wrong password, which is never printed', async () => {
    const url = new URL(database.url);
    url.password = 'not-the-password';
    const port = new URL(url);
    port.port = '1';
    const none = await failing(port.href);
    expect(none.err).toMatch(/the database does not answer.*ECONNREFUSED/);
    const other = new URL(url);
    other.pathname = '/not_there';
    for (const each of [none, await failing(other.href), await failing(url.href)]) {
      expect(each.err + each.out).not.toContain('not-the-password');
    }
    expect((await commandLine(other.href, ['status'])).exitCode).toBe(1);
  });

  it('a URL that is none', async () => {
    const { exitCode, err } = await failing('shop:secret@db');
    expect({ exitCode, err }).toEqual({
      exitCode: 2,
      err: 'nestjs-delay-queue: DATABASE_URL must begin with postgres:// or postgresql://\n',
    });
  });
});

describe('migrate', () => {
  it('creates the tables, once more creates what is missing, and needs no list of TypeORM', async () => {
    const empty = await createEmptyDatabase();
    const owner = new Client({ connectionString: empty.url });
    await owner.connect();
    try {
      expect(await commandLine(empty.url, ['migrate'])).toMatchObject({ exitCode: 0, err: '' });
      await owner.query('DROP INDEX delay_queue.delay_group');
      expect(await document(empty.url, ['migrate'])).toEqual({
        schema: 'delay_queue',
        migrated: true,
        problems: [],
      });
      const { rows } = await owner.query(
        `SELECT to_regclass('delay_queue.delay_group') IS NOT NULL AS mended, to_regclass('public.migrations') AS list`,
      );
      expect(rows).toEqual([{ mended: true, list: null }]);
      expect((await commandLine(empty.url, ['status'])).exitCode).toBe(0);
    } finally {
      await owner.end();
      await empty.drop();
    }
  });

  it('prints with --dry-run, without a database, a script that creates the same', async () => {
    const empty = await createEmptyDatabase();
    const owner = new Client({ connectionString: empty.url });
    await owner.connect();
    try {
      const { out, exitCode } = await commandLine('', ['migrate', '--dry-run', '--schema', 'q']);
      expect(exitCode).toBe(0);
      expect((await owner.query(`SELECT to_regclass('q.delay') AS no`)).rows).toEqual([
        { no: null },
      ]);
      await owner.query(out);
      await owner.query(out);
      const { findings } = await document<{ findings: { check: string; level: string }[] }>(
        empty.url,
        ['doctor', '--schema', 'q'],
      );
      expect(findings.filter(({ check }) => check === 'drift')).toMatchObject([{ level: 'ok' }]);
    } finally {
      await owner.end();
      await empty.drop();
    }
  });
});
