import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { Client } from 'pg';
import { appModule, fencedHandler, plainHandler, signal } from '../support/delay-node.js';
import { PgBouncer } from './support/pgbouncer.js';
import { POOL_SIZE, PooledStage } from './support/pooled-stage.js';
import { sayNotRun } from './support/programs.js';
import { EngineConnections } from '../support/engine-parts.js';

const isInstalled = PgBouncer.program() !== undefined;
if (!isInstalled)
  sayNotRun('test/servers/pgbouncer-sessions.spec.ts', 'There is no pgbouncer here.');

let stage: PooledStage;

beforeEach(async () => {
  if (isInstalled) stage = await PooledStage.open();
});

afterEach(async () => {
  await stage?.close();
});

(isInstalled ? describe : describe.skip)('the sessions that a pooler lends to many', () => {
  it('keep nothing of nodes that use them, or have used them: no LISTEN, no lock, no statement, no setting', async () => {
    const areClean = async (): Promise<void> => {
      const clean = { listens: [], locks: 0, statements: 0, settings: [] };
      const sessions = await stage.leftOnSessions();
      expect(new Set(sessions.map(({ pid }) => pid)).size).toBe(sessions.length);
      expect(sessions).toEqual(sessions.map(({ pid }) => ({ pid, ...clean })));
    };
    const node = await stage.start({ providers: [fencedHandler('test.fenced', () => {})] });
    await node.delays.scheduleMany(
      Array.from({ length: 30 }, (_, n) => ({ name: 'test.fenced', payload: n, after: n * 2 })),
    );
    await stage.direct.until('SELECT FROM delay_queue.delay', (rows) => rows.length === 0);
    await areClean();
    const withoutHandlers = await stage.start({});
    await withoutHandlers.delays.schedule('test.z', 1, { after: '1h', key: 'k' });
    await stage.stopNodes();
    await areClean();
  });

  it('cannot listen: a node says so once and claims no presence by which others would know it', async () => {
    const lines: string[] = [];
    const note = (line: unknown): void => void lines.push(String(line));
    const providers = [plainHandler('test.plain', () => {})];
    const app = await NestFactory.createApplicationContext(
      appModule({ url: stage.bouncer.url, providers }),
      { logger: { log: note, warn: note, error: note }, abortOnError: false },
    );
    const [node] = await stage.direct.sql('SELECT present FROM delay_queue.node');
    await app.close();
    expect(node).toEqual({ present: false });
    expect(lines.filter((line) => line.startsWith('LISTEN does not work'))).toHaveLength(1);
  });

  it('belong to somebody else once a transactional attempt has committed: its cut comes too late to end one', async () => {
    const cutIsOnTheWay = signal();
    const sessionIsLent = signal();
    const sessionsEnd = signal();
    stage.parts.intercept(EngineConnections, 'query', async ({ real, given: [sql] }) => {
      if (!sql.includes('pg_terminate_backend')) return real();
      cutIsOnTheWay.resolve();
      await sessionIsLent.promise;
      try {
        return await real();
      } finally {
        sessionsEnd.resolve();
      }
    });
    const commits = await holdCommits();
    const pid = signal<number>();
    const node = await stage.start({
      providers: [
        fencedHandler(
          'test.fenced',
          async (_delay, { manager }) => {
            await manager.query('INSERT INTO held VALUES (1)');
            const [row] = await manager.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
            pid.resolve(row!.pid);
          },
          { timeout: 2_000 },
        ),
      ],
    });
    await node.delays.schedule('test.fenced', null, { after: 0, key: 'k' });
    await cutIsOnTheWay.promise;
    await commits.end();
    await stage.direct.until('SELECT FROM delay_queue.delay', (rows) => rows.length === 0);

    const borrower = await borrow(await pid.promise);
    sessionIsLent.resolve();
    await sessionsEnd.promise;
    const outcome = await pidOf(borrower).catch((error: unknown) => error);
    await borrower.end();
    expect(outcome).toBe(await pid.promise);
  });
});

/** Transactions that write into `held` wait in their COMMIT until the answered session ends. */
async function holdCommits(): Promise<Client> {
  await stage.direct.sql('CREATE TABLE held (n int)');
  await stage.direct.sql(`
    CREATE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM pg_advisory_xact_lock_shared(1);
      RETURN NULL;
    END $$`);
  await stage.direct.sql(`
    CREATE CONSTRAINT TRIGGER wait_for_test AFTER INSERT ON held
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_test()`);
  const holder = new Client({ connectionString: stage.direct.url });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock(1)');
  return holder;
}

/** Some other client of the pooler, in a transaction on that session. */
async function borrow(pid: number): Promise<Client> {
  const others: Client[] = [];
  try {
    // Each keeps its session, so the pooler comes to the one that is wanted.
    for (let n = 0; n < POOL_SIZE; n += 1) {
      const client = new Client({ connectionString: stage.bouncer.url });
      client.on('error', () => {});
      await client.connect();
      await client.query('BEGIN');
      if ((await pidOf(client)) === pid) return client;
      others.push(client);
    }
  } finally {
    for (const client of others) await client.end();
  }
  throw new Error(`the pooler has no session ${pid}`);
}

async function pidOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]!.pid;
}
