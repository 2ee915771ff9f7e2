import { Client } from 'pg';
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.js';
import { serverFolder } from './server-folder.js';

/** Lost with a crash of the machine, and that is fine here: no waiting for the disk. */
export const UNDURABLE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: 200,
};

/** `TEST_DATABASE_URL` where it is set (we create and drop databases there), else an embedded one. */
export async function openTestServer(): Promise<Pick<EmbeddedPostgres, 'url' | 'stop'>> {
  const url = process.env.TEST_DATABASE_URL;
  if (url) return { url, stop: async () => {} };
  const server = await startEmbeddedPostgres({
    dataDir: serverFolder('delay-queue-test'),
    settings: UNDURABLE,
    temporary: true,
    log: (line) => process.stderr.write(`${line}\n`),
  });
  try {
    await makeCheapToProve(server.url);
    return server;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/**
 * The same password, hashed once instead of 4,096 times: each connection of a test proves it, in the test's process. That
 * is 2.1 ms of a processor instead of 3.6.
 */
async function makeCheapToProve(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('SET scram_iterations = 1');
    const password = client.escapeLiteral(new URL(url).password);
    await client.query(`ALTER ROLE CURRENT_USER PASSWORD ${password}`);
  } finally {
    await client.end();
  }
}
