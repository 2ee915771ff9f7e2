import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EngineConnections } from '../../../src/delay-queue/database/engine-connections.js';
import { Completer } from '../../../src/delay-queue/worker/completer.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { wasCommitted } from '../../../src/delay-queue/database/transaction-status.sql.js';
import type { Runner } from '../../../src/delay-queue/database/runner.js';
import { fencedHandler, signal } from '../../support/delay-node.js';
import { Stage } from './support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
  await stage.sql('CREATE TABLE parent (key text PRIMARY KEY)');
  await stage.sql('CREATE TABLE effect (key text REFERENCES parent DEFERRABLE INITIALLY DEFERRED)');
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

const FailsAtCommit = fencedHandler('test.fenced', (_, { manager }) =>
  manager.query(`INSERT INTO effect VALUES ('no such parent')`),
);

describe('an attempt whose COMMIT has failed', () => {
  it.each([
    ['has lost its row, although that is gone as if by itself', 'DELETE FROM delay_queue.delay', 0],
    ['is tried again where its row is', 'SELECT', 1],
  ])('%s', async (_, meanwhile, retries) => {
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
    const node = await stage.start({ providers: [FailsAtCommit] });
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

it('an attempt is written down when its node stops before it knows of its COMMIT', async () => {
  const [asked, answer, draining] = [signal(), signal(), signal()];
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { query } = EngineConnections.prototype;
  jest.spyOn(EngineConnections.prototype, 'query').mockImplementation(async function (
    this: EngineConnections,
    sql,
    parameters,
  ) {
    if (sql.includes('pg_xact_status')) {
      asked.resolve();
      await answer.promise;
    }
    return await query.call(this, sql, parameters);
  });
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const { drain } = Completer.prototype;
  jest.spyOn(Completer.prototype, 'drain').mockImplementation(function (this: Completer, withinMs) {
    draining.resolve();
    return drain.call(this, withinMs);
  });
  const node = await stage.start({ providers: [FailsAtCommit] });
  await node.delays.schedule('test.fenced', null, { after: 0 });
  await asked.promise;
  const stopped = node.stop();
  await draining.promise;
  answer.resolve();
  await stopped;
  const rows = await stage.sql('SELECT leased_by, attempts FROM delay_queue.delay');
  expect(rows).toEqual([{ leased_by: null, attempts: 1 }]);
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
