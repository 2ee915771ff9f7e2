import type { Adapter } from './adapters/adapter.js';
import type { Bench } from './bench.js';
import { StatementCounter } from './statement-counter.js';

/** What the servers of a measurement did; NaN where it cannot be told. */
export interface Work {
  cpuSeconds: number;
  /** Of Postgres; of another server the commands that it carried out. */
  statements: number;
  /** Written by the whole Postgres, whose only user is the bench. */
  walBytes: number;
}

/** Where one measurement takes place. */
export interface Site {
  url: string;
  /** Starts to count anew: what was done before is preparation. */
  begin(): Promise<void>;
  /** Since `begin`. */
  done(): Promise<Work>;
  /** The engine's claims so far, where statements are counted one by one; NaN elsewhere. */
  claims(): Promise<number>;
  drop(): Promise<void>;
}

/**
 * A database filled by `build`, which is called once per `key`: each round begins with a copy of the
 * same pages. A system that keeps its delays elsewhere gets an empty database, and its own store
 * is built anew.
 *
 * @param options statements are counted on request, because counting costs each of them a little
 */
export async function openSite(
  bench: Bench,
  adapter: Pick<Adapter, 'elsewhere'>,
  key: string,
  build: (url: string) => Promise<void>,
  options: { countStatements?: boolean } = {},
): Promise<Site> {
  const server = await bench.server();
  const { elsewhere } = adapter;
  const database = await (elsewhere
    ? server.database('empty', async () => {})
    : server.database(key, build));
  if (elsewhere) await build(database.url);
  const counter = options.countStatements ? await StatementCounter.of(server) : undefined;
  await counter?.watch(database);

  const cpuSeconds = (): Promise<number> =>
    elsewhere ? elsewhere.cpuSeconds() : server.cpu.seconds();
  const statements = async (): Promise<number> => {
    if (elsewhere) return elsewhere.commands();
    return counter ? counter.count(database) : Number.NaN;
  };
  const walBytes = async (): Promise<number> => {
    if (elsewhere) return Number.NaN;
    // Up to what is in the buffers: a commit that does not wait is not yet in the file.
    const { rows } = await server.client.query<{ bytes: number }>(
      "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes",
    );
    return rows[0]?.bytes ?? Number.NaN;
  };

  let before: Work = { cpuSeconds: Number.NaN, statements: Number.NaN, walBytes: Number.NaN };
  return {
    url: database.url,
    async begin() {
      const [statementsBefore, walBytesBefore] = [await statements(), await walBytes()];
      before = {
        cpuSeconds: await cpuSeconds(),
        statements: statementsBefore,
        walBytes: walBytesBefore,
      };
    },
    // CPU is looked at last before and first after, so that looking at the others costs nobody.
    async done() {
      const cpuSecondsAfter = await cpuSeconds();
      return {
        cpuSeconds: cpuSecondsAfter - before.cpuSeconds,
        statements: (await statements()) - before.statements,
        walBytes: (await walBytes()) - before.walBytes,
      };
    },
    claims: async () => (counter ? counter.claims(database) : Number.NaN),
    async drop() {
      await counter?.forget(database);
      await database.drop();
    },
  };
}

/** How statements are counted in this run, for the notes below a table. */
export async function statementSource(bench: Bench): Promise<string> {
  const { source } = await StatementCounter.of(await bench.server());
  return `statements by ${source}; of a server of its own, its commands`;
}
