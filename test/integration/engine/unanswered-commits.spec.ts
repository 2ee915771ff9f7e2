import type { Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import { attemptPoolOf } from '../../support/attempt-sessions.js';
import { fencedHandler } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';
import { AttemptStore } from '../../support/engine-parts.js';

const stage = stageOfEach({
  tables: `CREATE TABLE parent (key text PRIMARY KEY);
    CREATE TABLE effect (key text REFERENCES parent DEFERRABLE INITIALLY DEFERRED)`,
});

const Works = fencedHandler('test.fenced', (_, { manager }) =>
  manager.query(`INSERT INTO parent VALUES ('done')`),
);

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

it.each(['happened', 'did not happen'] as const)(
  'a COMMIT whose answer is lost is told as what it was: it %s',
  async (what) => {
    const node = await stage.start({ providers: [Works] });
    const told: string[] = [];
    for (const event of ['completed', 'lost', 'retrying'] as const) {
      node.events.on(event, () => told.push(event));
    }
    const pool = attemptPoolOf(node);
    const connect = pool.connect.bind(pool);
    pool.connect = async () => {
      pool.connect = connect;
      const client = await connect();
      loseTheAnswer(client, what === 'happened');
      return client;
    };
    const ended = node.next(what === 'happened' ? 'completed' : 'retrying');
    await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
    await ended;
    await stage.noneLeft();
    expect(told.filter((event) => event !== 'completed')).toEqual(
      what === 'happened' ? [] : ['retrying'],
    );
    expect(await stage.sql('SELECT count(*)::int AS n FROM parent')).toEqual([{ n: 1 }]);
  },
);

/** The connection ends at the COMMIT, before it or behind it. */
function loseTheAnswer(client: PoolClient, isSent: boolean): void {
  const { connection } = client as unknown as { connection: Wire };
  const query = connection.query.bind(connection);
  connection.query = (text) => {
    if (!text.endsWith('COMMIT')) return query(text);
    if (!isSent) return void connection.stream.destroy();
    // The server answers, and nothing of that is read.
    connection.stream.removeAllListeners('data');
    connection.stream.once('data', () => connection.stream.destroy());
    query(text);
  };
}

interface Wire {
  query(text: string): void;
  stream: Socket;
}
