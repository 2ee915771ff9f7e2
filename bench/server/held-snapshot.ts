import type { Client } from 'pg';
import { connect } from './bench-server.js';

/** A snapshot that keeps every vacuum of that database from removing anything. Ends with its connection. */
export async function holdSnapshot(url: string): Promise<Client> {
  const client = await connect(url);
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT 1 FROM delay_queue.delay LIMIT 1');
  return client;
}
