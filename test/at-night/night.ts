import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runMigrations } from 'nestjs-delay-queue';
import { Pool } from 'pg';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/app.module.js';
import { childrenOf, signal } from '../patroni/processes.js';
import { OwnServer } from '../servers/support/own-server.js';
import { Prometheus } from '../servers/support/prometheus.js';
import { type DelayNode, startNode } from '../support/delay-node.js';
import { buildDashboard } from '../../tools/page/build.mjs';
import { Operator } from './operator.js';
import { Partner } from './partner.js';
import { Shop } from './shop.js';

/** How the run's own sessions are called, so that faults leave them alone. */
const RUN = 'at night';

/** A shop, its database, its partner and its Prometheus, and whoever looks at them at night. */
export class Night {
  readonly #closes: (() => Promise<unknown>)[] = [];
  server!: OwnServer;
  partner!: Partner;
  shop!: Shop;
  prometheus!: Prometheus;
  /** Schedules and asks, and runs no handlers. */
  desk!: DelayNode;
  /** At the dashboard. */
  operator!: Operator;
  #pool!: Pool;

  /** @param speed by how much shorter all waits are */
  static async begin(speed: number): Promise<Night> {
    const night = new Night();
    try {
      await night.#open(speed);
      return night;
    } catch (error) {
      await night.end();
      throw error;
    }
  }

  async #open(speed: number): Promise<void> {
    // So that the clock of the whole server can be set.
    this.server = await OwnServer.create({ allow_system_table_mods: 'on', max_connections: 200 });
    this.#closes.push(() => this.server.remove());
    await this.server.start();
    const { url } = this.server;
    const source = await new DataSource(databaseOptions(url)).initialize();
    await runMigrations(source).finally(() => source.destroy());
    this.#pool = new Pool({ connectionString: url, application_name: RUN, max: 4 });
    this.#pool.on('error', () => {});
    this.#closes.push(() => this.#pool.end());
    this.partner = await Partner.start();
    this.#closes.push(() => Promise.resolve(this.partner.close()));
    this.shop = await Shop.start({
      databaseUrl: url,
      partnerUrl: this.partner.url,
      limits: {
        lateAfter: `${Math.round(60_000 / speed)}ms`,
        snapshotAfter: `${Math.round(600_000 / speed)}ms`,
        deadLettersMax: 0,
      },
    });
    this.#closes.push(() => this.shop.close());
    this.desk = await startNode({
      url,
      database: { url, applicationName: RUN },
      options: { worker: false, nodeName: 'desk' },
    });
    this.#closes.push(() => this.desk.stop());
    this.prometheus = await Prometheus.start([...this.shop.ports.values()], (rules) =>
      faster(rules, speed),
    );
    this.#closes.push(() => this.prometheus.stop());
    await this.prometheus.hasScraped();
    await buildDashboard();
    this.operator = await Operator.come(this.shop);
    this.#closes.push(() => this.operator.leave());
    // Closed first: a server that stands still answers no one who leaves.
    this.#closes.push(() => this.signalServer('SIGCONT'));
  }

  async sql<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, values)).rows;
  }

  /** A day goes by for what is due, and for its pause. */
  async dayLater(name: string): Promise<void> {
    await this.sql(
      `UPDATE delay_queue.delay
       SET due_at = due_at - interval '24 h', wake_at = wake_at - interval '24 h',
           created_at = created_at - interval '24 h'
       WHERE name = $1 AND wake_at <= clock_timestamp() AND leased_until IS NULL`,
      [name],
    );
    await this.sql(
      `UPDATE delay_queue.pause SET paused_at = paused_at - interval '24 h' WHERE name = $1`,
      [name],
    );
  }

  /** Ends all sessions of the shop, as a failover does. @param which SQL over pg_stat_activity */
  async endSessions(which = 'true'): Promise<void> {
    await this.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name <> $1 AND pid <> pg_backend_pid() AND ${which}`,
      [RUN],
    );
  }

  /**
   * Sets the clock of the server. Sessions keep the plans in which the old one is, so they end.
   * @param byS seconds from the true time
   */
  async setClock(byS: number): Promise<void> {
    const body =
      byS === 0
        ? `LANGUAGE internal STRICT AS 'clock_timestamp'`
        : `LANGUAGE sql AS $$SELECT pg_catalog.timeofday()::timestamptz + interval '${byS} s'$$`;
    await this.sql(
      `CREATE OR REPLACE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz
       VOLATILE PARALLEL SAFE ${body}`,
    );
    await this.endSessions();
  }

  /** The whole server stands still, or goes on. */
  async signalServer(name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const file = await readFile(join(this.server.dataPath, 'postmaster.pid'), 'utf8');
    const postmaster = Number(file.split('\n', 1)[0]);
    signal([postmaster, ...(await childrenOf(postmaster))], name);
  }

  async end(): Promise<void> {
    for (const close of this.#closes.splice(0).toReversed()) {
      await close().catch((error: unknown) => console.error(error));
    }
  }
}

/** The rules with all their waits and windows so much shorter, but for a day, which is jumped over. */
function faster(rules: string, speed: number): string {
  const MS = { s: 1_000, m: 60_000, h: 3_600_000 };
  const shorter = (text: string): string =>
    text.replace(
      /(\d+)([smh])/,
      (_, count: string, unit: 's' | 'm' | 'h') =>
        `${Math.max(Math.round((Number(count) * MS[unit]) / speed), 1)}ms`,
    );
  return rules
    .replaceAll(/for: \w+/g, shorter)
    .replaceAll(/\[\w+\]/g, shorter)
    .replaceAll(/(held_by="nothing"\}\) > )(\d+)/g, (_, before: string, seconds: string) =>
      [before, Number(seconds) / speed].join(''),
    );
}
