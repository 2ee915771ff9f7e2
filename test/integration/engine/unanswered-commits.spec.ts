import { describe, expect, it } from '@jest/globals';
import { EngineConnections } from '../../../src/delay-queue/database/engine-connections.js';
import { Completer } from '../../../src/delay-queue/worker/completer.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { wasCommitted } from '../../../src/delay-queue/database/transaction-status.sql.js';
import type { Runner } from '../../../src/delay-queue/database/runner.js';
import { fencedHandler, signal } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';

const stage = stageOfEach({
  tables: `CREATE TABLE parent (key text PRIMARY KEY);
    CREATE TABLE effect (key text REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`,
});

const FailsAtCommit = fencedHandler('test.fenced', (_, { manager }) =>
  manager.query(`INSERT INTO effect VALUES ('no such parent')`),
);

describe('an attempt whose COMMIT has failed', () => {
  it.each([
    ['has lost its row, although that is gone as if by itself', 'DELETE FROM delay_queue.delay', 0],
    ['is tried again where its row is', 'SELECT', 1],
  ])('%s', async (_, meanwhile, retries) => {
    // Another node has run it by then.
    const late = async ({ real }: { real: () => ReturnType<AttemptStore['retry']> }) => {
      await stage.sql(meanwhile);
      return real();
    };
    stage.parts.intercept(AttemptStore, 'retry', late, 1);
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
  stage.parts.intercept(EngineConnections, 'query', async ({ real, given: [sql] }) => {
    if (sql.includes('pg_xact_status')) {
      asked.resolve();
      await answer.promise;
    }
    return await real();
  });
  stage.parts.intercept(Completer, 'drain', ({ real }) => {
    draining.resolve();
    return real();
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
