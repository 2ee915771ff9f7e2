import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool, type QueryResultRow } from 'pg';
import { OwnServer } from '../../servers/support/own-server.js';
import type { Sql } from '../record/record.js';
import { untilBack } from './away.js';

/** How the run's own sessions are called, so that faults leave them alone. */
export const RUN_APPLICATION = 'chaos run';

/** The database of one run, on a server that faults may hit. */
export interface ChaosDatabase {
  /** Straight to the server, past every proxy. Survives crashes: the port stays. */
  readonly url: string;
  /** A crash, a pause, and a new start. Resolves when connections are let in. */
  crash(downMs: number): Promise<void>;
  /** One statement on a connection of the run's own, tried again while the server is away. */
  readonly sql: Sql;
  /** Before the server stops, or never. */
  drop(): Promise<void>;
}

/** A durable server, as a user would have it, on a port and in a folder of its own. */
export class ChaosServer {
  /** Crashes that are asked for at the same time come one after the other. */
  #crashing = Promise.resolve();

  static async start(): Promise<ChaosServer> {
    // A half-open proxy lets its clients come again and again, and none of them goes.
    const postgres = await OwnServer.create({ max_connections: 400 });
    await postgres.start();
    return new ChaosServer(postgres);
  }

  private constructor(private readonly postgres: OwnServer) {}

  async freshDatabase(): Promise<ChaosDatabase> {
    const name = `chaos_${randomBytes(5).toString('hex')}`;
    await this.postgres.sql(`CREATE DATABASE ${name} TEMPLATE template0`);
    const url = new URL(this.postgres.url);
    url.pathname = `/${name}`;
    const pool = new Pool({
      connectionString: url.href,
      application_name: RUN_APPLICATION,
      max: 4,
    });
    // Its idle connections die with every crash; the next statement speaks for itself.
    pool.on('error', () => {});
    return {
      url: url.href,
      crash: (downMs) => (this.#crashing = this.#crashing.then(() => this.#crash(downMs))),
      sql: async <Row extends QueryResultRow>(text: string, parameters: unknown[] = []) =>
        (await untilBack(() => pool.query<Row>(text, parameters))).rows,
      drop: async () => {
        await pool.end();
        await this.postgres.sql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      },
    };
  }

  async stop(): Promise<void> {
    await this.#crashing.catch(() => {});
    await this.postgres.remove();
  }

  async #crash(downMs: number): Promise<void> {
    await this.postgres.crash();
    await pause(downMs);
    await this.postgres.start();
  }
}
