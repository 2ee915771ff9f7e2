import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { fencedHandler, plainHandler, signal } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';
import { groupNumber, parseHint } from '../support/engine-parts.js';

/** `delay_queue.schedule` and its siblings, which any client calls, beside DelayService. */

let goesOn = signal();
const node = new OneNode({
  options: { maxAttempts: 1 },
  providers: [
    plainHandler('test.a', () => goesOn.promise),
    plainHandler('test.x', () => Promise.reject(new Error('no'))),
    fencedHandler('test.b', () => goesOn.promise),
  ],
});

interface Answer {
  verdict: string;
  id: string;
  due_at: Date;
}

async function connect(): Promise<Client> {
  const { url } = node.dataSource.options as { url: string };
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

type Name = `test.${string}`;
/** Whatever the types would refuse. */
const schedule = (options: object, name: unknown = 'a') =>
  node.delays.schedule(name as Name, 1, options as { after: number });
const caught = (error: unknown): unknown => error;

const one = async (sql: string, parameters: unknown[] = []): Promise<Answer> =>
  (await node.sql<Answer>(sql, parameters))[0]!;

/** Brings a delay of that name and key into a state. */
const STATES = {
  absent: async () => {},
  waiting: async (name: Name, key: string) => {
    await node.delays.schedule(name, 1, { after: '1h', key });
  },
  running: async (name: Name, key: string) => {
    const started = node.next('started', (event) => event.key === key);
    await node.delays.schedule(name, 1, { after: 0, key });
    await started;
  },
  dead: async (name: Name, key: string) => {
    const dead = node.next('dead', (event) => event.key === key);
    await node.delays.schedule('test.x', 1, { after: 0, key });
    await dead;
    await node.sql('UPDATE delay_queue.delay SET name = $1 WHERE key = $2', [name, key]);
  },
} as const;
type State = keyof typeof STATES;
const states = Object.keys(STATES) as State[];

describe('the same verdict as of DelayService', () => {
  beforeAll(() => {
    goesOn = signal();
  });
  afterAll(() => goesOn.resolve());

  const conflicts = ['replace', 'keep', 'error', 'earlier', 'later'] as const;

  it.each(states.flatMap((state) => conflicts.map((onConflict) => ({ state, onConflict }))))(
    'schedule, $state, $onConflict',
    async ({ state, onConflict }) => {
      for (const name of ['test.a', 'test.b'] as const) {
        const [theirs, ours] = [`${state}-sql`, `${state}-service`];
        await STATES[state](name, theirs);
        await STATES[state](name, ours);
        const options = { key: ours, after: '2h', onConflict } as const;
        const byService = await node.delays.schedule(name as Name, { n: 2 }, options).then(
          ({ verdict }) => verdict,
          (error: Error & { code: string }) => `${error.code}: ${error.message}`,
        );
        const bySql = await one(
          `SELECT * FROM delay_queue.schedule($1, '{"n": 2}', '2 hours', key => $2, on_conflict => $3)`,
          [name, theirs, onConflict],
        ).then(
          ({ verdict }) => verdict,
          (error: Error) => error.message,
        );
        expect(bySql.replace(theirs, ours)).toBe(byService);
        const rows = await node.sql(
          `SELECT payload, attempts, (due_at > clock_timestamp() + '90 minutes')::text AS late, leased_by IS NULL AS free
           FROM delay_queue.delay WHERE key IN ($1, $2)`,
          [theirs, ours],
        );
        expect(rows).toEqual([rows[0], rows[0]]);
        goesOn.resolve();
        goesOn = signal();
        await node.until(
          'SELECT FROM delay_queue.delay WHERE leased_by IS NOT NULL',
          (left) => left.length === 0,
        );
        await node.truncate('delay', 'history');
      }
    },
  );

  it.each(states)('cancel and reschedule, %s', async (state) => {
    for (const name of ['test.a', 'test.b'] as const) {
      const keys = ['a', 'b', 'c', 'd'];
      for (const key of keys) await STATES[state](name, `${state}-${key}`);
      const moved = await one(`SELECT * FROM delay_queue.reschedule($1, $2, '2 hours')`, [
        name,
        `${state}-a`,
      ]);
      expect(moved.verdict).toBe(
        (await node.delays.reschedule(name, `${state}-b`, { after: '2h' })).verdict,
      );
      const { verdict } = await one('SELECT delay_queue.cancel($1, $2) AS verdict', [
        name,
        `${state}-c`,
      ]);
      expect(verdict).toBe((await node.delays.cancel(name, `${state}-d`)).verdict);
      const history = await node.sql(
        `SELECT state FROM delay_queue.history WHERE key IN ('${state}-c', '${state}-d')`,
      );
      expect(history).toEqual(verdict === 'cancelled' ? [history[0], history[0]] : []);
      goesOn.resolve();
      goesOn = signal();
      await node.until(
        'SELECT FROM delay_queue.delay WHERE leased_by IS NOT NULL',
        (left) => left.length === 0,
      );
      await node.truncate('delay', 'history');
    }
  });
});

it('what is scheduled is what DelayService finds, due as it was told', async () => {
  const told = await one(
    `SELECT * FROM delay_queue.schedule('test.z', '{"orderId": "42"}', after => '30 minutes', key => '42',
       "group" => 'shop', headers => '{"by": "till"}', max_attempts => 3)`,
  );
  expect(told.verdict).toBe('scheduled');
  expect(await node.delays.find('test.z', '42')).toMatchObject({
    id: told.id,
    dueAt: told.due_at,
    payload: { orderId: '42' },
    group: 'shop',
    headers: { by: 'till' },
    maxAttempts: 3,
    state: 'scheduled',
  });
  expect(await one(`SELECT * FROM delay_queue.find('test.z', '42')`)).toMatchObject({
    id: told.id,
    due_at: told.due_at,
    state: 'scheduled',
    payload: { orderId: '42' },
    group: 'shop',
    headers: { by: 'till' },
  });
  expect(await node.sql(`SELECT * FROM delay_queue.find('test.z', '43')`)).toEqual([]);
});

it('all but the name is optional, but not when', async () => {
  expect(
    await one(`SELECT * FROM delay_queue.schedule('test.z', after => '1 hour')`),
  ).toMatchObject({
    verdict: 'scheduled',
  });
});

it('a day is 24 hours, and a part of a millisecond is rounded up', async () => {
  const client = await connect();
  await client.query(`SET timezone = 'Europe/Berlin'`);
  const {
    rows: [row],
  } = await client.query<{ ms: string; part: string }>(
    `SELECT extract(epoch FROM s.due_at - clock_timestamp()) * 1000 AS ms, extract(microseconds FROM t.due_at)::text AS part
     FROM delay_queue.schedule('test.z', after => '200 days') s,
          delay_queue.schedule('test.z', due_at => '2030-01-01 00:00:00.000001+00') t`,
  );
  expect(Number(row?.ms) / 86_400_000).toBeCloseTo(200, 3);
  expect(Number(row?.part)).toBe(1_000);
  await client.end();
});

describe('refuses what DelayService refuses, in its words', () => {
  const long = 'x'.repeat(256);
  const wide = '😀'.repeat(128);
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, n) => [`h${n}`, '']));
  const large = { a: 'é'.repeat(2_048) };
  const soon = { after: 1 };

  it.each<[what: string, field: string, args: string, parameters: unknown[], call: () => unknown]>([
    ['no name', 'name', `NULL, after => '1s'`, [], () => schedule(soon, null)],
    ['a name with a space', 'name', `' x', after => '1s'`, [], () => schedule(soon, ' x')],
    ['a name with a quote', 'name', `'a"b', after => '1s'`, [], () => schedule(soon, 'a"b')],
    ['a long name', 'name', `$1, after => '1s'`, [long], () => schedule(soon, long)],
    [
      'an empty key',
      'key',
      `'a', after => '1s', key => ''`,
      [],
      () => schedule({ ...soon, key: '' }),
    ],
    [
      'a long key',
      'key',
      `'a', after => '1s', key => $1`,
      [long],
      () => schedule({ ...soon, key: long }),
    ],
    [
      'a key of surrogates',
      'key',
      `'a', after => '1s', key => $1`,
      [wide],
      () => schedule({ ...soon, key: wide }),
    ],
    [
      'an empty group',
      'group',
      `'a', after => '1s', "group" => ''`,
      [],
      () => schedule({ ...soon, group: '' }),
    ],
    [
      'another conflict',
      'on_conflict',
      `'a', after => '1s', on_conflict => 'last'`,
      [],
      () => schedule({ ...soon, onConflict: 'last' }),
    ],
    [
      'no attempts',
      'max_attempts',
      `'a', after => '1s', max_attempts => 0`,
      [],
      () => schedule({ ...soon, maxAttempts: 0 }),
    ],
    [
      'two times',
      'due_at',
      `'a', after => '1s', due_at => now()`,
      [],
      () => schedule({ ...soon, at: new Date() }),
    ],
    [
      'no end of time',
      'due_at',
      `'a', due_at => 'infinity'`,
      [],
      () => schedule({ at: new Date(8.64e15) }),
    ],
    [
      'a time before 1970',
      'due_at',
      `'a', due_at => '1969-12-31'`,
      [],
      () => schedule({ at: new Date(-1) }),
    ],
    [
      'many headers',
      'headers',
      `'a', after => '1s', headers => $1`,
      [many],
      () => schedule({ ...soon, headers: many }),
    ],
    [
      'a long name of a header',
      'headers.name',
      `'a', after => '1s', headers => $1`,
      [{ [long]: '' }],
      () => schedule({ ...soon, headers: { [long]: '' } }),
    ],
    [
      'large headers',
      'headers',
      `'a', after => '1s', headers => $1`,
      [large],
      () => schedule({ ...soon, headers: large }),
    ],
  ])('%s', async (_, field, args, parameters, call) => {
    const error = await node.sql(`SELECT delay_queue.schedule(${args})`, parameters).catch(caught);
    const { message } = (await Promise.resolve().then(call).catch(caught)) as Error;
    const words = message
      .replace('onConflict', 'on_conflict')
      .replace('maxAttempts', 'max_attempts')
      .replaceAll(/\bat\b(?=,|:)/g, 'due_at');
    expect(error).toMatchObject({
      code: 'DQ001',
      column: field,
      message: `DELAY_INVALID: ${words}`,
    });
  });

  it.each([
    ['months', `'a', after => '1 month'`, 'after: counts months or years'],
    ['years', `'a', after => '1 year'`, 'after: counts months or years'],
    ['a negative duration', `'a', after => '-1 second'`, 'after: must not be negative'],
    ['a century and a day', `'a', after => '36526 days'`, 'after: must be at most 100 years'],
    ['no time', `'a'`, 'after|due_at: say when'],
    [
      'headers that are no object',
      `'a', after => '1s', headers => '[]'`,
      'headers: must be an object of texts',
    ],
    [
      'a header that is no text',
      `'a', after => '1s', headers => '{"a": 1}'`,
      'headers: must be an object of texts',
    ],
    [
      'a payload of more than 64 KiB',
      `'a', to_jsonb(repeat('x', 65535)), after => '1s'`,
      'payload: must take at most 65536 bytes',
    ],
  ])('%s', async (_, args, why) => {
    await expect(node.sql(`SELECT delay_queue.schedule(${args})`)).rejects.toThrow(
      `DELAY_INVALID: ${why}`,
    );
    expect(await node.sql('SELECT FROM delay_queue.delay')).toEqual([]);
  });

  it.each(['cancel', 'find', 'reschedule'])('%s without a key', async (verb) => {
    const when = verb === 'reschedule' ? `, '1 hour'` : '';
    await expect(node.sql(`SELECT delay_queue.${verb}('a', NULL${when})`)).rejects.toMatchObject({
      code: 'DQ001',
      column: 'key',
    });
  });
});

describe('in a transaction of its caller', () => {
  let client: Client;
  beforeAll(async () => {
    client = await connect();
  });
  afterAll(() => client.end());

  it('nothing is there after a rollback, also of a savepoint', async () => {
    await client.query(
      `BEGIN; SELECT delay_queue.schedule('test.z', after => '0', key => 'a'); ROLLBACK`,
    );
    await client.query(
      `BEGIN; SAVEPOINT s; SELECT delay_queue.schedule('test.z', after => '0', key => 'a'); ROLLBACK TO s; COMMIT`,
    );
    expect(await node.sql('SELECT FROM delay_queue.delay')).toEqual([]);
  });

  it('each write of a near delay sends a hint that nodes can read, and one of a far delay none', async () => {
    await client.query('LISTEN delay_queue');
    const hints: string[] = [];
    client.on('notification', ({ payload }) => hints.push(payload ?? ''));
    await node.sql(
      `SELECT delay_queue.schedule('test.z', after => '31 seconds', "group" => 'g', key => 'k')`,
    );
    await node.sql(`SELECT delay_queue.reschedule('test.z', 'k', '1 hour')`);
    const near = `"group" => 'g', key => 'near', after =>`;
    const { id } = await one(`SELECT * FROM delay_queue.schedule('test.y', ${near} '29 seconds')`);
    await node.sql(`SELECT delay_queue.schedule('test.y', ${near} '28 seconds')`);
    await node.sql(`SELECT delay_queue.reschedule('test.y', 'near', '27 seconds')`);
    await client.query('SELECT 1');
    // Nodes read them, and the last one says what the row says.
    const wakes = hints.map((hint) => parseHint(hint));
    const [row] = await node.sql<{ ms: string }>(
      `SELECT (extract(epoch FROM wake_at) * 1000)::bigint AS ms FROM delay_queue.delay WHERE key = 'near'`,
    );
    const wake = { id: Number(id), name: 'test.y', groupNumber: groupNumber('g') };
    expect(wakes).toMatchObject([
      { kind: 'wakes', wakes: [{ ...wake, epoch: 0 }] },
      { kind: 'wakes', wakes: [{ ...wake, epoch: 1 }] },
      { kind: 'wakes', wakes: [{ ...wake, epoch: 2, wakeMs: Number(row?.ms) }] },
    ]);
  });

  it('another session that holds the row is waited for, and then there is a true verdict', async () => {
    await node.delays.schedule('test.z', 1, { after: '1h', key: 'k' });
    await client.query('BEGIN');
    await client.query(`SELECT FROM delay_queue.delay FOR UPDATE`);
    const cancelling = one(`SELECT delay_queue.cancel('test.z', 'k') AS verdict`);
    const moving = one(`SELECT * FROM delay_queue.reschedule('test.z', 'k', '2 hours')`);
    await node.until(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
      ({ length }) => length === 2,
    );
    await client.query('DELETE FROM delay_queue.delay');
    await client.query('COMMIT');
    expect((await cancelling).verdict).toBe('absent');
    expect((await moving).verdict).toBe('absent');
  });

  it('gives up after ten seconds, and has written nothing', async () => {
    await node.delays.schedule('test.z', 1, { after: '1h', key: 'k' });
    await client.query('BEGIN');
    await client.query(`SELECT FROM delay_queue.delay FOR UPDATE`);
    await expect(
      node.sql(`SELECT delay_queue.schedule('test.z', after => '2 hours', key => 'k')`),
    ).rejects.toMatchObject({
      code: 'DQ003',
      message: expect.stringContaining('DELAY_UNSTABLE: other transactions'),
    });
    await client.query('ROLLBACK');
  });
});

it('a role that may only schedule can do that and nothing else', async () => {
  const role = `only_${randomBytes(5).toString('hex')}`;
  await node.sql(`CREATE ROLE ${role}`);
  try {
    await node.sql(`GRANT USAGE ON SCHEMA delay_queue TO ${role}`);
    // Of one implicit transaction, so an error takes the role back as well.
    const as = (sql: string) => node.sql(`SET LOCAL ROLE ${role}; ${sql}`);
    const refused = (sql: string) => expect(as(sql)).rejects.toMatchObject({ code: '42501' });
    await refused(`SELECT delay_queue.schedule('test.z', after => '1 hour')`);
    await node.sql(`GRANT EXECUTE ON FUNCTION delay_queue.schedule TO ${role}`);
    await as(`SELECT delay_queue.schedule('test.z', after => '1 hour', key => 'k')`);
    await refused(`SELECT delay_queue.cancel('test.z', 'k')`);
    await refused('SELECT payload FROM delay_queue.delay');
    await refused(`SELECT delay_queue.schedule_one('a', 'b', '1', 1, NULL, NULL, NULL, NULL)`);
  } finally {
    await node.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});
