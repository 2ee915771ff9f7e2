import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { hears, listen, PROBE_MS } from '../../../src/delay-queue/cluster/session-probe.js';
import type { Runner } from '../../../src/delay-queue/store/wire/runner.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

const CHANNEL = 'test_probe';

let database: TestDatabase;
let clients: Client[];

beforeAll(async () => {
  database = await createTestDatabase();
  clients = [0, 1].map(() => new Client({ connectionString: database.url }));
  for (const client of clients) await client.connect();
});

afterAll(async () => {
  for (const client of clients) await client.end();
  await database.drop();
});

it('a process that stands still while it is told hears all the same', async () => {
  const [listener, sender] = clients as [Client, Client];
  await listen(listener, CHANNEL);
  const runner: Runner = {
    query: async (text, values) => {
      const sent = sender.query(text, values);
      // What is sent is on its way by then; and longer than a probe waits.
      await new Promise(setImmediate);
      const untilMs = performance.now() + PROBE_MS + 200;
      while (performance.now() < untilMs);
      return (await sent).rows as never;
    },
  };
  expect(await hears(listener, CHANNEL, runner)).toBe('heard');
});
