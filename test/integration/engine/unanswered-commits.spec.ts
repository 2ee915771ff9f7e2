import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { wasCommitted } from '../../../src/delay-queue/store/transaction-status.js';
import type { Runner } from '../../../src/delay-queue/store/wire/runner.js';
import { fencedHandler } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

describe('an attempt whose COMMIT has failed', () => {
  it.each([
    ['has lost its row, although that is gone as if by itself', 'DELETE FROM delay_queue.delay', 0],
    ['is tried again where its row is', 'SELECT', 1],
  ])('%s', async (_, meanwhile, retries) => {
    await stage.sql('CREATE TABLE parent (key text PRIMARY KEY)');
    await stage.sql(
      'CREATE TABLE effect (key text REFERENCES parent DEFERRABLE INITIALLY DEFERRED)',
    );
    // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
    const retry = AttemptStore.prototype.retry;
    // Another node has run it by then.
    jest.spyOn(AttemptStore.prototype, 'retry').mockImplementationOnce(async function (
      this: AttemptStore,
      items,
    ) {
      await stage.sql(meanwhile);
      return retry.call(this, items);
    });
    const insert = `INSERT INTO effect VALUES ('no such parent')`;
    const node = await stage.start({
      providers: [fencedHandler('test.fenced', (_delay, { manager }) => manager.query(insert))],
    });
    const told: string[] = [];
    for (const event of ['completed', 'lost', 'retrying'] as const) {
      node.events.on(event, () => told.push(event));
    }
    const ended = node.next(retries > 0 ? 'retrying' : 'lost');
    await node.delays.schedule('test.fenced', null, { after: 0, maxAttempts: 2 });
    await ended;
    expect(told).toEqual([retries > 0 ? 'retrying' : 'lost']);
  });
});

describe('what became of a transaction', () => {
  const runner: Runner = {
    query: async (sql, parameters) => (await stage.sql(sql, [...parameters])) as never[],
  };

  it('is what Postgres says, and nothing happened of what it has not heard', async () => {
    const [row] = await stage.sql<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
    expect(await wasCommitted(runner, row!.xid)).toBe(true);
    expect(await wasCommitted(runner, String(2 ** 40))).toBe(false);
  });
});
