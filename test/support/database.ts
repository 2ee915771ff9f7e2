import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { currentRun, onServer, prefixOf, templateOf, urlOf } from './test-run.js';

/** How long a closed connection may take to vanish from the server's list. */
const CLOSE_GRACE_MS = 10_000;

export interface TestDatabase {
  url: string;
  /**
   * Drops it. Throws when a connection is still open (after dropping it all the same): somebody
   * forgot to close it. `force` skips that, for tests that kill processes in the middle of a statement.
   */
  drop: (options?: { force?: boolean }) => Promise<void>;
}

/** A database with all migrations, cloned from the run's template. */
export function createTestDatabase(): Promise<TestDatabase> {
  return create(templateOf(currentRun()));
}

/** A database without any table of ours: for tests of the migrations. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create('template0');
}

async function create(template: string): Promise<TestDatabase> {
  const run = currentRun();
  const name = `${prefixOf(run)}_${randomBytes(5).toString('hex')}`;
  await onServer(run, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${template} ${run.cloning}`),
  );
  return {
    url: urlOf(run, name),
    drop: ({ force = false } = {}) =>
      onServer(run, async (client) => {
        const open = force ? [] : await connectionsLeft(client, name);
        await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
        if (open.length > 0) {
          throw new Error(`Connections left open on the test database:\n${open.join('\n')}`);
        }
      }),
  };
}

async function connectionsLeft(client: Client, database: string): Promise<string[]> {
  const deadline = performance.now() + CLOSE_GRACE_MS;
  for (;;) {
    const { rows } = await client.query<{ connection: string }>(
      `SELECT concat_ws(' · ', pid, nullif(application_name, ''), state, left(query, 120)) AS connection
         FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`,
      [database],
    );
    if (rows.length === 0 || performance.now() > deadline) {
      return rows.map(({ connection }) => connection);
    }
    await pause(10);
  }
}
