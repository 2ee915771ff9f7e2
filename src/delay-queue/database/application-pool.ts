import type { Client, Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { ConnectionConfig } from './connection-config.js';

/** The parts of TypeORM's Postgres driver that are used here; it types them `any`. */
export interface PostgresDriver {
  postgres: {
    Pool: new (config: ConnectionConfig) => Pool;
    Client: new (config: ConnectionConfig) => Client;
  };
  /** A new one after each `initialize()`, none after `destroy()`; with `replication`, that of the master. */
  master?: Pool & { options: ConnectionConfig };
}

export const driverOf = (dataSource: DataSource): PostgresDriver =>
  dataSource.driver as unknown as PostgresDriver;

/** What the application's own pool was made from. */
export const poolOptionsOf = (dataSource: DataSource): ConnectionConfig =>
  driverOf(dataSource).master?.options ?? {};
