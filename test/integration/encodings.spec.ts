import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { DataSource } from 'typeorm';
import { DelayConfigError, delayQueueMigrations } from 'nestjs-delay-queue';
import { startNode } from '../support/delay-node.js';
import { currentRun, onServer, prefixOf, urlOf } from '../support/test-run.js';

let name: string;
let url: string;

/** A database as old installations have them. */
async function create(encoding: string): Promise<void> {
  const run = currentRun();
  name = `${prefixOf(run)}_${randomBytes(5).toString('hex')}`;
  url = urlOf(run, name);
  await onServer(run, (client) =>
    client.query(
      `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    ),
  );
  const dataSource = new DataSource({ type: 'postgres', url, migrations: delayQueueMigrations() });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
}

describe.each(['LATIN1', 'SQL_ASCII'])('a database of encoding %s', (encoding) => {
  beforeEach(() => create(encoding));

  afterEach(() =>
    onServer(currentRun(), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`)),
  );

  it.each([true, false])(
    'is refused at the start, and the error says what to do (worker: %s)',
    async (worker) => {
      const refused = await startNode({ url, options: { worker } }).catch((error) => error);
      expect(refused).toBeInstanceOf(DelayConfigError);
      expect(refused.message).toContain(`the encoding of this database is ${encoding}`);
      expect(refused.message).toContain("ENCODING 'UTF8'");
    },
  );
});
