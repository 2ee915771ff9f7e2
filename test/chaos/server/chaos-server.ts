import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueryResultRow } from 'pg';
import type { ChaosServer } from '../world.js';
import { ServerProcess } from './server-process.js';
import { SteadySql } from './steady-sql.js';

/** As a user would have it: what is acknowledged is on the disk. */
const SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // A half-open proxy lets its clients come again and again, and none of them goes.
  max_connections: 400,
};

/** A server of the run's own, as one of its databases. */
export interface OwnServer extends ChaosServer {
  /** The same server as another, empty database; `drop` before the server stops, or never. */
  freshDatabase(): Promise<ChaosServer & { drop(): Promise<void> }>;
  /** Nothing of it is left then: no process, no folder. The same happens when this process is killed. */
  stop(): Promise<void>;
}

/** Starts a durable Postgres on a port of its own, in a temporary folder. */
export async function openChaosServer(log: (line: string) => void): Promise<OwnServer> {
  const process = await ServerProcess.start(
    {
      folder: join(tmpdir(), `delay-queue-chaos-${randomBytes(5).toString('hex')}`),
      settings: SETTINGS,
    },
    log,
  );
  const own = new SteadySql(process.url);
  return {
    ...faceOf(process, process.url, own),
    freshDatabase: async () => {
      const name = `chaos_${randomBytes(5).toString('hex')}`;
      await own.query(`CREATE DATABASE ${name} TEMPLATE template0`);
      const url = new URL(process.url);
      url.pathname = `/${name}`;
      const sql = new SteadySql(url.href);
      return {
        ...faceOf(process, url.href, sql),
        drop: async () => {
          await sql.close();
          await own.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
        },
      };
    },
    stop: async () => {
      await own.close();
      await process.stop();
    },
  };
}

function faceOf(process: ServerProcess, url: string, sql: SteadySql): ChaosServer {
  return {
    url,
    crash: (downMs) => process.crash(downMs),
    sql: <Row extends QueryResultRow>(text: string, parameters?: unknown[]) =>
      sql.query<Row>(text, parameters),
  };
}
