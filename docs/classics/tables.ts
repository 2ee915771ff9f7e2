import { delayQueueMigrations, runMigrations } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';

/** The shop's tables, and what the designs keep beside them. Without unique keys: what is done twice must show. */
const TABLES = `
  CREATE TABLE orders (
    id     text PRIMARY KEY,
    status text NOT NULL DEFAULT 'UNPAID',
    paid   boolean NOT NULL DEFAULT false,
    due_at timestamptz NOT NULL
  );
  CREATE TABLE stock_return (
    order_id text NOT NULL,
    process  text NOT NULL,
    at       timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE UNLOGGED TABLE zset (member text PRIMARY KEY, score float8 NOT NULL);
  CREATE INDEX ON zset (score);
  CREATE TABLE ttl_queue (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    body       text NOT NULL,
    expires_at timestamptz NOT NULL,
    ready      boolean NOT NULL DEFAULT false,
    consumer   text,
    beat_at    timestamptz
  );`;

/** An empty database becomes one of the shop. The caller closes what is answered. */
export async function openTables(url: string): Promise<DataSource> {
  const migrations = delayQueueMigrations();
  const source = await new DataSource({ type: 'postgres', url, migrations }).initialize();
  await source.query(TABLES);
  await runMigrations(source);
  return source;
}
