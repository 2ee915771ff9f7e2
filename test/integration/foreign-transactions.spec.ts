import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayInvalidError, type DelayTransaction } from 'nestjs-delay-queue';
import { Client, Pool } from 'pg';
import { plainHandler } from '../support/delay-node.js';
import { OneNode } from '../support/one-node.js';

/** Calls with `tx`, on pg itself; `npm run test:orms` has them on twelve libraries. */

const node = new OneNode({ providers: [plainHandler('test.a', () => {})] });
let client: Client;
let pool: Pool;

beforeEach(async () => {
  const { url } = node.dataSource.options as { url: string };
  client = new Client({ connectionString: url });
  pool = new Pool({ connectionString: url, max: 2 });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await pool.end();
});

const schedule = (key: string, tx: DelayTransaction, after: string | number = '1h') =>
  node.delays.schedule('test.a', { n: 1 }, { after: after as number, key, tx });
const find = (key: string) => node.delays.find('test.a', key);

/** As a library gives one: an object for each transaction, and names of columns of its own. */
const wrapped = (): DelayTransaction => ({
  query: async (text, values) => {
    const { rows } = await client.query<Record<string, unknown>>(text, values);
    return rows.map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [
          name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
          value,
        ]),
      ),
    );
  },
  transaction: {},
});

describe.each([
  ['a client', () => client as DelayTransaction],
  ['what a library gives', wrapped],
])('with %s', (_, make) => {
  it('commits and rolls back with the transaction', async () => {
    for (const end of ['ROLLBACK', 'COMMIT']) {
      await client.query('BEGIN');
      const tx = make();
      expect(await schedule('k', tx)).toMatchObject({ verdict: 'scheduled' });
      expect(await schedule('k', tx)).toMatchObject({ verdict: 'replaced' });
      expect(await find('k')).toBeNull();
      expect(await node.delays.find('test.a', 'k', { tx })).toMatchObject({ key: 'k' });
      await client.query(end);
    }
    expect(await find('k')).toMatchObject({ payload: { n: 1 } });
  });

  it('writes nothing outside of a transaction', async () => {
    const refused = schedule('k', make());
    await expect(refused).rejects.toBeInstanceOf(DelayInvalidError);
    await expect(refused).rejects.toMatchObject({ field: 'tx' });
    expect(await find('k')).toBeNull();
  });

  it('writes nothing behind the end of its transaction', async () => {
    await client.query('BEGIN');
    const tx = make();
    await schedule('first', tx);
    const late = schedule('late', tx);
    const end = client.query('COMMIT');
    const outcome = await late.catch((error: unknown) => error);
    await end;
    expect(await find('first')).not.toBeNull();
    expect((await find('late')) === null).toBe(outcome instanceof DelayInvalidError);
  });
});

it('writes nothing in the next transaction of the same connection', async () => {
  await client.query('BEGIN');
  const tx = wrapped();
  await schedule('first', tx);
  await client.query('COMMIT');
  await client.query('BEGIN');
  await expect(schedule('second', tx)).rejects.toMatchObject({ field: 'tx' });
  await client.query('COMMIT');
  expect(await find('second')).toBeNull();
});

it('writes nothing through a pool', async () => {
  await expect(schedule('k', pool)).rejects.toMatchObject({ field: 'tx' });
  expect(await find('k')).toBeNull();
});

it('hints inside the transaction of what is due soon, and of nothing else', async () => {
  const { url } = node.dataSource.options as { url: string };
  const hearing = new Client({ connectionString: url });
  await hearing.connect();
  const heard: string[] = [];
  hearing.on('notification', ({ payload = '' }) => heard.push(payload));
  await hearing.query('LISTEN delay_queue');
  const completed = node.next('completed');
  await client.query('BEGIN');
  await schedule('far', client);
  await schedule('soon', client, 0);
  await hearing.query('SELECT 1');
  expect(heard.filter((hint) => hint.startsWith('w'))).toEqual([]);
  await client.query('COMMIT');
  expect(await completed).toMatchObject({ key: 'soon' });
  await hearing.query('SELECT 1');
  expect(heard.filter((hint) => hint.startsWith('w'))).toHaveLength(1);
  await hearing.end();
});

it('hints of one that is moved, behind one that is not there', async () => {
  await node.delays.schedule('test.a', { n: 1 }, { after: '1h', key: 'there' });
  const completed = node.next('completed');
  await client.query('BEGIN');
  const targets = ['absent', 'there'].map((key) => ({ name: 'test.a' as const, key }));
  await node.delays.rescheduleMany(targets, { after: 0 }, { tx: client });
  await client.query('COMMIT');
  expect(await completed).toMatchObject({ key: 'there', latenessMs: expect.any(Number) });
});

it('keeps what was written where its hint was not sent', async () => {
  let sent = 0;
  const tx: DelayTransaction = {
    query: async (text, values) => {
      sent += 1;
      if (text.includes('pg_notify')) throw new Error('over');
      return await client.query(text, values);
    },
    transaction: {},
  };
  await client.query('BEGIN');
  expect(await schedule('k', tx, 1_000)).toMatchObject({ verdict: 'scheduled' });
  await client.query('COMMIT');
  expect(sent).toBe(3);
  expect(await find('k')).not.toBeNull();
});

it('throws the error of the server, without values, and says where tables are missing', async () => {
  const secret = 'queen of hearts';
  const failing: DelayTransaction = {
    query: () => {
      const cause = Object.assign(new Error('no right to call schedule_one'), {
        code: '42501',
        routine: 'aclcheck_error',
        detail: secret,
      });
      throw Object.assign(new Error(`failed\nparams: x`, { cause }), { params: [secret] });
    },
    transaction: {},
  };
  const error = await schedule('k', failing).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'DELAY_CONFIG',
    message: expect.stringContaining('GRANT USAGE'),
  });
  const silent: DelayTransaction = { query: async () => undefined as never, transaction: {} };
  await expect(schedule('k', silent)).rejects.toThrow(
    'an earlier one of its transaction has failed',
  );
});

it.each<[what: string, tx: unknown, why: RegExp]>([
  ['a text', 'tx', /^tx: must be a client of pg/],
  ['null', null, /^tx: must be a client of pg/],
  ['an object', {}, /^tx: must be a client of pg/],
])('refuses %s', async (_, tx, why) => {
  await expect(schedule('k', tx as DelayTransaction)).rejects.toThrow(why);
});

it('refuses an EntityManager, and a manager beside it', async () => {
  const { manager } = node.dataSource;
  await expect(schedule('k', manager as never)).rejects.toThrow('give it as `manager`');
  const both = { after: 1, manager, tx: client };
  await expect(node.delays.schedule('test.a', { n: 1 }, both)).rejects.toThrow('not both');
});

describe('found by resolveManager', () => {
  let current: DelayTransaction | undefined;
  const found = new OneNode({ options: { worker: false, resolveManager: () => current } });

  it('is joined by calls that name none, and by no others', async () => {
    const { url } = found.dataSource.options as { url: string };
    const own = new Client({ connectionString: url });
    await own.connect();
    try {
      await own.query('BEGIN');
      current = own;
      const later = { after: '1h' } as const;
      await found.delays.schedule('test.a', { n: 1 }, { ...later, key: 'joins' });
      await found.delays.schedule('test.a', { n: 1 }, { ...later, key: 'alone', manager: 'own' });
      await own.query('ROLLBACK');
      // Its transaction is over: what falls back to another client is refused, not written alone.
      const late = found.delays.schedule('test.a', { n: 1 }, { ...later, key: 'late' });
      await expect(late).rejects.toMatchObject({ field: 'tx' });
      current = undefined;
      const keys = ['joins', 'alone', 'late'];
      const there = await Promise.all(keys.map((key) => found.delays.find('test.a', key)));
      expect(there.map((delay) => delay?.key)).toEqual([undefined, 'alone', undefined]);
    } finally {
      await own.end();
    }
  });
});
