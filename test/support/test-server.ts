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
  return startEmbeddedPostgres({
    dataDir: serverFolder('delay-queue-test'),
    settings: UNDURABLE,
    temporary: true,
    log: (line) => process.stderr.write(`${line}\n`),
  });
}
