import { afterAll, beforeAll } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from './database.js';

/**
 * One database with all migrations for the tests of a file, from its `beforeAll` hooks on; after the
 * last test it goes, and the connections that were made to it.
 */
export function fileDatabase(): { connect(): Promise<Client> } {
  const clients: Client[] = [];
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await database.drop();
  });

  return {
    connect: async () => {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      clients.push(client);
      return client;
    },
  };
}
