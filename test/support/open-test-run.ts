import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { migrations } from '../../migrations/index.js';
import { openTestServer } from './test-server.js';
import {
  dropDatabasesOf,
  dropDatabasesOfDeadRuns,
  holdRun,
  newRun,
  publish,
  templateOf,
  urlOf,
  type TestRun,
} from './test-run.js';

let close: (() => Promise<void>) | undefined;

/** Before all test files, in Jest's main process: a server, and the template that they clone. */
export async function openTestRun(): Promise<void> {
  const server = await openTestServer();
  const client = new Client({ connectionString: server.url });
  let run: TestRun | undefined;
  close = async (): Promise<void> => {
    try {
      if (run !== undefined) await dropDatabasesOf(client, run);
      await client.end();
    } finally {
      await server.stop();
    }
  };
  try {
    await client.connect();
    run = await newRun(client, server.url);
    await holdRun(client, run);
    await dropDatabasesOfDeadRuns(client);
    await client.query(`CREATE DATABASE ${templateOf(run)} TEMPLATE template0`);
    await migrate(run);
  } catch (error) {
    await closeTestRun().catch(() => {});
    throw error;
  }
  publish(run);
}

/** After all test files, also after failed ones. */
export async function closeTestRun(): Promise<void> {
  await close?.();
}

async function migrate(run: TestRun): Promise<void> {
  const source = new DataSource({ type: 'postgres', url: urlOf(run, templateOf(run)), migrations });
  await source.initialize();
  try {
    await source.runMigrations();
  } finally {
    await source.destroy();
  }
}
