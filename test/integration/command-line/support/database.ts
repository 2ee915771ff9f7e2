import { afterAll, beforeAll } from '@jest/globals';
import { Client, type QueryResult } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../../support/database.js';

/** The database of all tests of a file, and a session of it. */
export function openDatabase() {
  let database: TestDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });

  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  return {
    get url(): string {
      return database.url;
    },
    query: <Row extends object = any>(
      text: string,
      values?: unknown[],
    ): Promise<QueryResult<Row>> => client.query<Row>(text, values),
  };
}
