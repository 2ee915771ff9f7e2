import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { openDatabase } from '../../src/database.js';
import { startEmbeddedPostgres } from '../../src/embedded-postgres/embedded-postgres.js';

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}

test('production without DATABASE_URL is refused in one line that says what to set', async () => {
  const opening = openDatabase({ prod: true, env: {} });
  await expect(opening).rejects.toThrow(/^DATABASE_URL is not set\.[^\n]*DATABASE_URL=[^\n]*$/);
});

test("a second shop on the first one's DATABASE_URL keeps the embedded server up", async () => {
  const parent = await mkdtemp(join(tmpdir(), 'database-'));
  // Root runs Postgres as another user, who has to get in.
  await chmod(parent, 0o755);
  const first = await startEmbeddedPostgres({
    dataDir: join(parent, 'postgres'),
    settings: { fsync: 'off' },
  });
  const second = await openDatabase({ prod: false, env: { DATABASE_URL: first.url } });

  await first.stop();
  expect(await answers(second.url)).toBe(true);
  await second.stop();
  expect(await answers(second.url)).toBe(false);
  await rm(parent, { recursive: true });
});
