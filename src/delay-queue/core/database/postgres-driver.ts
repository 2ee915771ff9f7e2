import type { Client, Pool } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import type { ConnectionConfig } from './connection-config.js';

/** The parts of TypeORM's Postgres driver that are used here; TypeORM types them `any`. */
export interface PostgresDriver {
  postgres: {
    Pool: new (config: ConnectionConfig) => Pool;
    Client: new (config: ConnectionConfig) => Client;
  };
  /** New after each `initialize()`, absent after `destroy()`; with `replication`, the master's. */
  master?: Pool & { options: ConnectionConfig };
  /** Query runners with a connection; `destroy()` releases each of them, until the list is empty. */
  connectedQueryRunners?: Pick<QueryRunner, 'release'>[];
}

export const postgresDriver = (dataSource: DataSource): PostgresDriver =>
  dataSource.driver as unknown as PostgresDriver;

/** By TypeORM's own mark, because each copy of TypeORM has a different class. */
export const isDataSource = (value: unknown): value is DataSource =>
  typeof value === 'object' &&
  value !== null &&
  Reflect.get(value, '@instanceof') === Symbol.for('DataSource');

/** The options of the application's own pool. */
export const givenPoolOptions = (dataSource: DataSource): ConnectionConfig =>
  postgresDriver(dataSource).master?.options ?? {};
