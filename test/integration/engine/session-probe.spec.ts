import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import {
  type EngineConnections,
  hears,
  PROBE_MS,
  type Runner,
  SessionProof,
  startListening,
} from '../../support/engine-parts.js';

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
  await startListening(listener, CHANNEL);
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

it('what could not be said proves nothing, for it could not be heard', async () => {
  const [listener] = clients as [Client, Client];
  // Its COMMIT hangs, say.
  const runner: Runner = { query: () => new Promise(() => {}) };
  expect(await hears(listener, CHANNEL, runner)).toBe('unknown');
});

it('a proof that fails is tried again, until it can be told', async () => {
  const [, sender] = clients as [Client, Client];
  const fails = ['open', 'say', 'nothing'];
  const known = {
    dedicated: () => new Client({ connectionString: database.url }),
    open: async (client: Client) => {
      await client.connect();
      if (fails[0] === 'open') throw new Error(`cannot ${fails.shift()}`);
    },
    query: async (text: string, values: unknown[]) => {
      if (fails[0] === 'say') throw new Error(`cannot ${fails.shift()}`);
      return (await sender.query(text, values)).rows as never;
    },
  };
  const proof = new SessionProof(known as unknown as EngineConnections, CHANNEL);
  expect(await proof.answered).toBe(true);
  expect(fails).toEqual(['nothing']);
  const away = { ...known, open: () => Promise.reject(new Error('away')) };
  const stopped = new SessionProof(away as unknown as EngineConnections, CHANNEL);
  await stopped.stop();
  expect(await stopped.answered).toBe(false);
});
