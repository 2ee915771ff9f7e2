import { beforeEach, describe, expect, it } from '@jest/globals';
import { userInfo } from 'node:os';
import { commandLine, document } from './support/command-line.js';
import { openDatabase } from './support/database.js';

const database = openDatabase();

beforeEach(() =>
  database.query('TRUNCATE delay_queue.delay, delay_queue.history, delay_queue.pause'),
);

/** Delays `1` to `count` of order.close, due in a year; with `dead`, dead letters. */
const plant = (count: number, how: 'waiting' | 'dead' | 'running' = 'waiting') =>
  database.query(
    `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, leased_by, leased_until)
     SELECT 'order.close', n::text, '{}', now() + interval '365 days',
            CASE WHEN $2 = 'dead' THEN 'infinity' ELSE now() + interval '365 days' END, now(),
            CASE WHEN $2 = 'running' THEN 'node-1' END,
            CASE WHEN $2 = 'running' THEN now() + interval '1 hour' END
     FROM generate_series(1, $1::int) AS n`,
    [count, how],
  );

const left = async (): Promise<number> =>
  Number((await database.query('SELECT count(*) FROM delay_queue.delay')).rows[0].count);

const BY_NAME = ['--name', 'order.close'];

describe('one delay', () => {
  it('is changed by name and key or by id, without a question', async () => {
    await plant(3);
    const one = ['order.close', '1'];
    const moved = await document(database.url, [
      'reschedule',
      ...one,
      '--at',
      '2099-01-31T09:30:00Z',
    ]);
    expect(moved.results).toMatchObject([
      { key: '1', verdict: 'rescheduled', dueAt: '2099-01-31T09:30:00.000Z' },
    ]);
    const now = await commandLine(database.url, ['run-now', ...one]);
    expect(now).toMatchObject({ exitCode: 0, out: 'order.close 1: due\n', asked: [] });
    const { rows } = await database.query(
      `SELECT id::text FROM delay_queue.delay WHERE key <> '1' ORDER BY id`,
    );
    const ids = rows.flatMap(({ id }) => ['--id', id]);
    const gone = await commandLine(database.url, ['cancel', ...ids]);
    expect(gone.out).toBe(rows.map(({ id }) => `id ${id}: cancelled\n`).join(''));
    expect(await left()).toBe(1);
  });

  it('that is absent or runs is told by its verdict and exit code 1', async () => {
    await plant(1, 'running');
    for (const [verdict, ...args] of [
      ['running', 'cancel', 'order.close', '1'],
      ['absent', 'cancel', 'order.close', '2'],
      ['absent', 'retry', 'order.close', '1'],
      ['running', 'run-now', 'order.close', '1'],
    ]) {
      const ran = await commandLine(database.url, args);
      expect(ran).toMatchObject({ exitCode: 1, out: `order.close ${args[2]}: ${verdict}\n` });
    }
  });

  it('a key that acts on a terminal is escaped', async () => {
    const { out } = await commandLine(database.url, ['cancel', 'order.close', '\u001b[2J\n']);
    expect(out).toBe('order.close \\u001b[2J\\n: absent\n');
  });
});

describe('many delays', () => {
  it('are counted and asked about first, and left alone after a no', async () => {
    await plant(3);
    const no = await commandLine(database.url, ['cancel', ...BY_NAME], { answers: ['no'] });
    expect(no).toMatchObject({ exitCode: 1, asked: ['Cancel 3 delays?'], out: '' });
    expect(no.err).toBe('3 delays match.\nNothing was changed.\n');
    const cut = await commandLine(database.url, ['cancel', ...BY_NAME], {
      answers: ['interrupted'],
    });
    expect(cut).toMatchObject({ exitCode: 130, out: '', err: no.err });
    const yes = await commandLine(database.url, ['cancel', ...BY_NAME], { answers: ['yes'] });
    expect(yes).toMatchObject({ exitCode: 0, out: '3 delays: 3 cancelled.\n' });
    expect(await left()).toBe(0);
  });

  it('without a terminal and without --yes nothing is changed', async () => {
    await plant(2);
    const refused = await commandLine(database.url, ['cancel', ...BY_NAME]);
    expect(refused).toMatchObject({ exitCode: 2, out: '' });
    expect(refused.err).toContain(
      '2 delays match.\nNothing was changed: there is no terminal to ask.',
    );
    expect(await left()).toBe(2);
    const { matched, cancelled } = await document(database.url, ['cancel', ...BY_NAME, '--yes']);
    expect({ matched, cancelled }).toEqual({ matched: 2, cancelled: 2 });
  });

  it('each command counts only what it can change', async () => {
    await plant(2, 'dead');
    const none = await commandLine(database.url, ['run-now', ...BY_NAME], { answers: ['yes'] });
    expect(none).toMatchObject({ exitCode: 0, asked: [], out: 'No delay was changed.\n' });
    expect(none.err).toBe('0 delays match.\n');
    const retried = await commandLine(database.url, ['retry', ...BY_NAME], { answers: ['yes'] });
    expect(retried).toMatchObject({ asked: ['Retry 2 delays?'], out: '2 delays: 2 retried.\n' });
    const moved = ['reschedule', ...BY_NAME, '--after', '1h', '--yes'];
    expect((await commandLine(database.url, moved)).out).toBe('2 delays: 2 rescheduled.\n');
  });

  it('of which some run end with exit code 1', async () => {
    await plant(1, 'running');
    const ran = await commandLine(database.url, ['cancel', ...BY_NAME, '--yes']);
    expect(ran).toMatchObject({ exitCode: 1, out: '1 delay: 1 running.\n' });
  });

  it('Ctrl-C ends between two pages, and what was done is told', async () => {
    await plant(2_500);
    const ran = await commandLine(database.url, ['cancel', ...BY_NAME, '--yes'], {
      onErr: (line, interrupt) => {
        if (line.startsWith('1,000 of 2,500')) interrupt();
      },
    });
    expect(ran.exitCode).toBe(130);
    expect(ran.out).toBe(
      '1,000 delays: 1,000 cancelled. Interrupted: the others are as they were.\n',
    );
    expect(await left()).toBe(1_500);
  });
});

const movedBy = async (...args: string[]) => {
  await plant(1);
  await commandLine(database.url, ['run-now', ...args]);
  const { out } = await commandLine(database.url, ['story', '1']);
  const { delays } = await document(database.url, ['story', '1']);
  await database.query('TRUNCATE delay_queue.delay');
  return { by: delays[0].moveLog[0].by, out };
};

describe('who asked for it', () => {
  it('is kept: who is said, otherwise the user of the machine', async () => {
    const said = await movedBy('order.close', '1', '--by', 'ticket 7');
    expect(said.by).toBe('ticket 7');
    expect(said.out).toContain('runNow by ticket 7 moved it from');
    expect((await movedBy(...BY_NAME, '--yes', '--by', 'ticket 8')).by).toBe('ticket 8');
    expect((await movedBy('order.close', '1')).by).toBe(userInfo().username);
  });

  it('also of a cancel, in history, and of a pause', async () => {
    await plant(1);
    await commandLine(database.url, ['cancel', 'order.close', '1', '--by', 'ticket 9']);
    await commandLine(database.url, ['pause', 'order.close', '--by', 'ticket 10']);
    const { history } = await document(database.url, ['list', '--state', 'cancelled']);
    expect(history).toMatchObject([{ key: '1', by: 'ticket 9' }]);
    const { pauses } = await document(database.url, ['status']);
    expect(pauses).toMatchObject([{ by: 'ticket 10' }]);
    expect((await commandLine(database.url, ['status'])).out).toContain('ticket 10');
  });

  it('is not, where nodes keep no history', async () => {
    await plant(1);
    const ran = await commandLine(database.url, ['cancel', 'order.close', '1', '--no-history']);
    expect(ran).toMatchObject({ exitCode: 0, err: '' });
    const { rows } = await database.query(
      'SELECT FROM delay_queue.delay UNION ALL SELECT FROM delay_queue.history',
    );
    expect(rows).toEqual([]);
  });
});

it('pause and resume', async () => {
  const paused = ['pause', 'sms.send', '--group', 'g', '--reason', 'down', '--for', '2h'];
  expect((await commandLine(database.url, paused)).out).toMatch(
    /^The group g of sms\.send is paused until \d{4}-.*Z\. What runs goes on\.\n$/,
  );
  const { rows } = await database.query('SELECT name, group_id, reason FROM delay_queue.pause');
  expect(rows).toEqual([{ name: 'sms.send', group_id: 'g', reason: 'down' }]);
  const resume = ['resume', 'sms.send', '--group', 'g'];
  expect(await commandLine(database.url, resume)).toMatchObject({ exitCode: 0 });
  expect(await commandLine(database.url, resume)).toMatchObject({
    exitCode: 1,
    out: 'The group g of sms.send was not paused.\n',
  });
});

it.each([
  [['cancel'], /needs NAME and KEY, or --id, or options that select delays/],
  [['cancel', 'order.close'], /the KEY is missing; all delays of a name are --name order\.close/],
  [['cancel', 'order.close', '1', '--id', '2'], /one of these/],
  [['cancel', 'order.close', '1', '--abort-within', '1s'], /give both/],
  [['retry', '--state', 'running'], /--state: retry is for delays that are dead, not running/],
  [['run-now', '--state', 'dead'], /not dead/],
  [['run-now', '--state', 'ded'], /--state: must be one of scheduled, running, retrying, dead/],
  [['cancel', '--id', 'x'], /id/],
  [['cancel', ...BY_NAME, '--key', 'k'.repeat(256)], /--key: /],
  [['reschedule', 'order.close', '1'], /one of --after, --at and --extend-by/],
  [['reschedule', 'order.close', '1', '--after', '1h', '--at', '2099-01-01T00:00:00Z'], /one of/],
  [['reschedule', 'order.close', '1', '--after', 'soon'], /--after: /],
  [['pause', 'a', '--for', '1h', '--until', '2099-01-01T00:00:00Z'], /either --for or --until/],
  [['pause', 'a', '--for', 'x'], /--for: /],
  [['list', '--limit', '1001'], /--limit: must be/],
  [['list', '--limit', 'x'], /--limit must be a number/],
  [['list', '--after', 'x'], /--after: /],
  [['list', '--state', 'dead', '--state', 'completed'], /either live delays or ended ones/],
  [['explain'], /explain needs NAME and KEY, or one --id/],
  [['explain', 'a'], /the KEY is missing/],
  [['explain', 'a', 'b', '--id', '1'], /explain needs/],
  [['explain', '--id', '1', '--id', '2'], /explain needs/],
  [['pause', 'a', '--by', 'x'.repeat(256)], /--by: /],
  [['story'], /story needs a KEY/],
  [['story', '42', '--name', 'a'], /not both/],
  [['status', '--schema', 'Delay-Queue'], /--schema: /],
  [['status', '--load-every', 'x'], /load-every/],
  [['doctor', '--load-every', 'x'], /load-every/],
])('%j is wrong usage', async (args, message) => {
  const ran = await commandLine(database.url, args);
  expect(ran).toMatchObject({ exitCode: 2, out: '' });
  expect(ran.err).toMatch(message);
  expect(ran.err.trim().split('\n').length).toBeLessThan(3);
});
