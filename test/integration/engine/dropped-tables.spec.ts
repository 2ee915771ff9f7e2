import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.js';
import { startNode } from '../../support/delay-node.js';
import { AdviceWatch } from './support/advice-watch.js';
import { refusedStart } from './support/refused-start.js';

let database: TestDatabase;
let source: DataSource;

beforeEach(async () => {
  database = await createEmptyDatabase();
  const migrations = delayQueueMigrations();
  source = await new DataSource({ type: 'postgres', url: database.url, migrations }).initialize();
  await source.runMigrations();
});

afterEach(async () => {
  await source.destroy();
  await database.drop();
});

const TABLES =
  'abort, delay, history, node, operation, operation_change, pause, permit, quota, rerun';
const ALL_TABLES = TABLES.replaceAll(/\w+/g, 'delay_queue.$&');

describe('a start on a schema from which a tool has dropped', () => {
  it.each([
    // As prisma db push, drizzle-kit push and MikroORM leave it: the functions are no table's.
    ['all tables', `DROP TABLE ${ALL_TABLES}`, '"delay_queue".rerun, '],
    ['one table', 'DROP TABLE delay_queue.history', '"delay_queue".history not found'],
    [
      'a function',
      'DROP FUNCTION delay_queue.cancel_one',
      'cancel_one(text, text, text) not found',
    ],
  ])('%s says what may have done it, and what mends it', async (_, statement, lost) => {
    await source.query(statement);
    const refused = () => refusedStart({ url: database.url });
    expect(String(await refused())).toMatch(
      /not found, though the rest of the schema is there: run npx nestjs-delay-queue migrate\. .*prisma db push.* docs\/orms\.md/,
    );
    expect(await source.runMigrations()).toEqual([]);
    expect(await refused()).toMatchObject({ message: expect.stringContaining(lost) });
    await runMigrations(database.url);
    const node = await startNode({ url: database.url });
    await node.stop();
  });

  it('a function for other clients advises, and starts', async () => {
    await source.query('DROP FUNCTION delay_queue.find');
    const watch = new AdviceWatch();
    const node = await startNode({ url: database.url, providers: [watch.provider] });
    await node.stop();
    expect(watch.advice).toEqual([
      '"delay_queue".find(text, text) not found. Nodes start without, but calls from SQL fail (42883). Run npx ' +
        'nestjs-delay-queue migrate.',
    ]);
  });
});
