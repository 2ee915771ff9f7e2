import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { delayQueueMigrations, DelayConfigError, DelayInvalidError } from 'nestjs-delay-queue';
import { type DelayNode, fencedHandler, plainHandler, startNode } from '../support/delay-node.js';
import { AdviceWatch } from './engine/support/advice-watch.js';
import { currentRun, onServer, prefixOf, urlOf } from '../support/test-run.js';

let name: string;
let url: string;
let nodes: DelayNode[];

/** A database as old installations have them. */
async function create(encoding: string): Promise<void> {
  const run = currentRun();
  name = `${prefixOf(run)}_${randomBytes(5).toString('hex')}`;
  url = urlOf(run, name);
  await onServer(run, (client) =>
    client.query(
      `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    ),
  );
  const dataSource = new DataSource({ type: 'postgres', url, migrations: delayQueueMigrations() });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
}

beforeEach(() => {
  nodes = [];
});

afterEach(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  await onServer(currentRun(), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
});

async function start(setup: Omit<Parameters<typeof startNode>[0], 'url'>): Promise<DelayNode> {
  const node = await startNode({ url, ...setup });
  nodes.push(node);
  return node;
}

async function rows(sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const fails = (): never => {
  throw new Error(`the café at 5 €, 漢字 ${'x'.repeat(5_000)}`);
};

describe.each([
  ['LATIN1', 'café', '5 \\u{20ac}, \\u{6f22}\\u{5b57}'],
  ['SQL_ASCII', 'caf\\u{e9}', '5 \\u{20ac}, \\u{6f22}\\u{5b57}'],
])('a database of encoding %s', (encoding, cafe, rest) => {
  beforeEach(() => create(encoding));

  it('an error text that it cannot hold is written as far as it can: no row stays leased', async () => {
    const node = await start({
      options: { history: { attempts: true } },
      providers: [
        plainHandler('test.fails', fails, { maxAttempts: 2, backoff: { base: 5, jitter: 0 } }),
        fencedHandler('test.fenced', fails, { maxAttempts: 1 }),
        plainHandler('test.good', () => {}),
      ],
    });
    const dead = [node.next('dead', (of) => of.name === 'test.fails')];
    dead.push(node.next('dead', (of) => of.name === 'test.fenced'));
    await node.delays.schedule('test.fails', null, { after: 0, key: 'a' });
    await node.delays.schedule('test.fenced', null, { after: 0, key: 'b' });
    await Promise.all(dead);
    const left = await rows(
      'SELECT leased_by, left(last_error, 60) AS error FROM delay_queue.delay ORDER BY key',
    );
    const error = expect.stringContaining(`the ${cafe} at ${rest} xx`);
    expect(left).toEqual([
      { leased_by: null, error },
      { leased_by: null, error },
    ]);
    const good = node.next('completed');
    await node.delays.schedule('test.good', null, { after: 0 });
    await good;
  });
});

const refused = (field: string) => ({
  code: 'DELAY_INVALID',
  field,
  message: expect.stringContaining('"€"'),
});

describe('a database of encoding LATIN1', () => {
  beforeEach(() => create('LATIN1'));

  it('what a caller gives and it cannot hold is refused, and the error names the field', async () => {
    const { delays, admin, dataSource } = await start({ options: { worker: false } });
    const once = { after: '1h' } as const;
    await expect(delays.schedule('test.text', { price: '5 €' }, once)).rejects.toMatchObject(
      refused('payload'),
    );
    await expect(delays.schedule('test.text', null, { ...once, key: '€' })).rejects.toMatchObject(
      refused('key'),
    );
    await expect(delays.schedule('test.text', null, { ...once, group: '€' })).rejects.toMatchObject(
      refused('group'),
    );
    const headers = { currency: '€' };
    await expect(delays.schedule('test.text', null, { ...once, headers })).rejects.toMatchObject(
      refused('headers'),
    );
    await expect(
      dataSource.transaction((manager) =>
        delays.schedule('test.text', '€', { ...once, key: 'k', manager }),
      ),
    ).rejects.toMatchObject(refused('payload'));
    const items = ['fine', '€'].map((key) => ({
      name: 'test.text' as const,
      payload: null,
      key,
      ...once,
    }));
    await expect(delays.scheduleMany(items)).rejects.toMatchObject(refused('items[1].key'));
    await expect(delays.cancel('test.text', '€')).rejects.toMatchObject(refused('key'));
    await expect(delays.find('test.text', '€')).rejects.toBeInstanceOf(DelayInvalidError);
    await expect(admin.list({ group: '€' })).rejects.toMatchObject(refused('group'));
    const group = { group: '€' };
    await expect(admin.pause('test.text', group)).rejects.toMatchObject(refused('group'));
    await expect(admin.resume('test.text', group)).rejects.toMatchObject(refused('group'));
    await expect(admin.pause('test.text', { reason: 'not before 5 €' })).rejects.toMatchObject(
      refused('reason'),
    );
    await expect(admin.runNow([{ name: 'test.text', key: '€' }])).rejects.toMatchObject(
      refused('targets[0].key'),
    );
    await expect(admin.groupStats({ group: '€' })).rejects.toMatchObject(refused('group'));
    await expect(admin.story('€')).rejects.toMatchObject(refused('key'));
    await expect(
      delays.reschedule('test.text', '€', { after: '2h', onConflict: 'keep' } as never),
    ).rejects.toBeInstanceOf(DelayInvalidError);
    await expect(delays.history('test.text', '€')).rejects.toMatchObject(refused('key'));
    // Those that travel with one that is refused are written.
    const together = await Promise.allSettled(
      ['é', '€', 'x'].map((key) => delays.schedule('test.text', key, { ...once, key })),
    );
    expect(together.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await delays.find('test.text', 'é')).toMatchObject({ payload: 'é', key: 'é' });
  });

  it('its node says so once, and does not start under a name that it cannot hold', async () => {
    const options = { worker: false, nodeName: 'knoten-€' } as const;
    await expect(start({ options })).rejects.toThrow(DelayConfigError);
    const watch = new AdviceWatch();
    await start({ options: { worker: false }, providers: [watch.provider] });
    expect(watch.advice.filter((message) => message.includes('LATIN1'))).toHaveLength(1);
  });
});
