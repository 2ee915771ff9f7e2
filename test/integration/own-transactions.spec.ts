import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Delay, OnDelay, type OwnTransactionDelayContext } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { OneNode } from '../support/one-node.js';

/** `transactional: 'own'`: the handler's own transaction removes the delay, or the delay runs again. */

type Run = (client: Client, ctx: OwnTransactionDelayContext, delay: Delay) => Promise<unknown>;
let run: Run;
let client: Client;

class Closes {
  @OnDelay('test.a', { transactional: 'own', timeout: '2s', maxAttempts: 2 })
  async close(delay: Delay<'test.a'>, ctx: OwnTransactionDelayContext): Promise<void> {
    await run(client, ctx, delay);
  }
}

const node = new OneNode({ providers: [Closes], options: { history: { attempts: true } } });

beforeEach(async () => {
  const { url } = node.dataSource.options as { url: string };
  client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  await client.query('CREATE TABLE IF NOT EXISTS effect (id text)');
  await client.query('TRUNCATE effect');
});

afterEach(() => client.end());

const effects = async () => (await node.sql('SELECT id FROM effect')).length;

async function inTransaction(work: () => Promise<unknown>): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(`INSERT INTO effect VALUES ('done')`);
    await work();
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** @returns how the first attempt ended, and with which error */
async function attempted(first: Run): Promise<[event: string, error: string]> {
  let attempts = 0;
  run = async (...all) => {
    attempts += 1;
    if (attempts === 1) return await first(...all);
    return await inTransaction(() => all[1].complete(client));
  };
  const completed = node.next('completed').then(() => ['completed', ''] as [string, string]);
  const retrying = node
    .next('retrying')
    .then(({ error }) => ['retrying', error] as [string, string]);
  await node.delays.schedule('test.a', { n: 1 }, { after: 0, key: 'k' });
  const end = await Promise.race([completed, retrying]);
  await completed;
  // What its other listener waits for does not come.
  retrying.catch(() => {});
  return end;
}

describe('what the first attempt does, and how it ends', () => {
  it.each<[what: string, first: Run, end: string, error: RegExp, attempts: number]>([
    ['completes', (_, ctx) => inTransaction(() => ctx.complete(client)), 'completed', /^$/, 1],
    [
      'commits, and fails behind it, as with a lost answer to COMMIT',
      async (_, ctx) => {
        await inTransaction(() => ctx.complete(client));
        throw new Error('no answer');
      },
      'completed',
      /^$/,
      1,
    ],
    [
      'completes in no transaction',
      async (_, ctx) => ctx.complete(client),
      'retrying',
      /tx: is in no transaction/,
      2,
    ],
    [
      'rolls back',
      (_, ctx) =>
        inTransaction(async () => {
          await ctx.complete(client);
          throw new Error('no');
        }),
      'retrying',
      /no/,
      2,
    ],
    [
      'rolls back, and resolves',
      async (_, ctx) => {
        await inTransaction(async () => {
          await ctx.complete(client);
          await client.query('SELECT 1/0').catch(() => {});
        });
      },
      'retrying',
      /DELAY_ROLLED_BACK|rolled back/,
      2,
    ],
    [
      'returns before its transaction commits',
      async (_, ctx) => {
        await new Promise<void>((completed) => {
          void inTransaction(async () => {
            await ctx.complete(client);
            completed();
            await client.query('SELECT pg_sleep(0.2)');
          });
        });
      },
      'completed',
      /^$/,
      1,
    ],
    [
      'completes in a savepoint that it rolls back',
      (_, ctx) =>
        inTransaction(async () => {
          await client.query('SAVEPOINT s');
          await client.query(`DELETE FROM effect`);
          await ctx.complete(client);
          await client.query('ROLLBACK TO s');
          await client.query(`DELETE FROM effect`);
        }),
      'retrying',
      /rolled back/,
      2,
    ],
    [
      'completes again behind a savepoint that it rolled back',
      (_, ctx) =>
        inTransaction(async () => {
          await client.query('SAVEPOINT s');
          await ctx.complete(client);
          await client.query('ROLLBACK TO s');
          await ctx.complete(client);
        }),
      'completed',
      /^$/,
      1,
    ],
    [
      'completes twice in one transaction',
      (_, ctx) =>
        inTransaction(async () => {
          await ctx.complete(client);
          await ctx.complete(client);
        }),
      'retrying',
      /completed in this transaction before/,
      2,
    ],
    [
      'completes again in a second transaction, after the first was rolled back',
      async (_, ctx) => {
        const failing = inTransaction(async () => {
          await ctx.complete(client);
          throw new Error('serialization');
        });
        await failing.catch(() => {});
        await inTransaction(() => ctx.complete(client));
      },
      'completed',
      /^$/,
      1,
    ],
    [
      'loses its connection inside',
      (_, ctx) =>
        inTransaction(async () => {
          await ctx.complete(client);
          await node.sql(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ${(client as unknown as { processID: number }).processID}`,
          );
          const { url } = node.dataSource.options as { url: string };
          const dead = client;
          client = new Client({ connectionString: url });
          await client.connect();
          await dead.query('SELECT 1');
        }),
      'retrying',
      /./,
      2,
    ],
  ])('%s', async (_, first, end, error, attempts) => {
    const [event, message] = await attempted(first);
    expect([event, message]).toEqual([end, expect.stringMatching(error)]);
    const [ended] = await node.delays.history('test.a', 'k');
    expect(ended).toMatchObject({ state: 'completed', attempts });
    expect(await node.delays.find('test.a', 'k')).toBeNull();
    expect(await effects()).toBe(1);
  });
});

it('does not count as completed what another session has removed', async () => {
  run = async (_, ctx) => {
    const failing = inTransaction(async () => {
      await ctx.complete(client);
      throw new Error('no');
    });
    await failing.catch(() => {});
    await node.sql('DELETE FROM delay_queue.delay');
  };
  const lost = node.next('lost');
  await node.delays.schedule('test.a', { n: 1 }, { after: 0, key: 'k' });
  expect(await lost).toMatchObject({ key: 'k' });
  expect(await effects()).toBe(0);
});

it('runs again what was not completed, although it has committed', async () => {
  const [event, error] = await attempted(() => inTransaction(async () => {}));
  expect([event, error]).toEqual([
    'retrying',
    expect.stringContaining('without `await ctx.complete(tx)`'),
  ]);
  expect(await effects()).toBe(2);
});

it('fails a transaction that outlasts the attempt', async () => {
  let late: Promise<unknown> = Promise.resolve();
  const [event, error] = await attempted((_, ctx) => {
    late = (async () => {
      if (!ctx.signal.aborted) await once(ctx.signal, 'abort');
      await inTransaction(() => ctx.complete(client));
    })().catch((thrown: unknown) => thrown);
    return late;
  });
  expect([event, error]).toEqual(['retrying', expect.stringContaining('2000 ms')]);
  expect(await late).toMatchObject({ code: 'DELAY_TRANSACTION_OVER' });
  expect(await effects()).toBe(1);
});

it('moves a recurring delay on to its next run', async () => {
  run = (_, ctx) => inTransaction(() => ctx.complete(client));
  const completed = node.next('completed');
  await node.delays.schedule('test.a', { n: 1 }, { key: 'r', repeat: { every: '1h' }, after: 0 });
  await completed;
  expect(await node.delays.find('test.a', 'r')).toMatchObject({ state: 'scheduled', attempts: 0 });
});
