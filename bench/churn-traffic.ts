import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from 'pg';
import { DelayStore } from '../src/delay-queue/store/delay.store.js';
import type { NewDelay } from '../src/delay-queue/store/rows/delay-rows.js';
import type { Runner } from '../src/delay-queue/database/runner.js';
import { tablesOf } from '../src/delay-queue/database/tables.js';
import { loadSql, sweepSql } from '../src/delay-queue/store/sql/fetch.sql.js';
import { AttemptStore } from '../src/delay-queue/store/attempt.store.js';
import { NodeStore } from '../src/delay-queue/store/node.store.js';
import { connect } from './server/bench-server.js';

const SCHEMA = 'delay_queue';
const NODE = 'bench';
const NAME = 'bench.run';

/** A batch leaves this often: 20 delays at 1,000 a second, as a busy node has it. */
const EVERY_MS = 20;
/** How long a delay waits before it is claimed. */
const WAITS_MS = 400;

/** More often than a node does it, so that a phase of some seconds has enough of them. */
const LOAD_EVERY_MS = 250;
const SWEEP_EVERY_MS = 500;
const PRUNE_EVERY_MS = 500;
const GRACE_MS = 5_000;
const HORIZON_MS = 30_000;
const PAGE_MAX = 5_000;
const LOAD = { horizonMs: HORIZON_MS, limit: PAGE_MAX, peersWithinMs: HORIZON_MS };
const SWEEP = { scan: 4_000, limit: 2_000, helpAfterMs: null, aheadMs: 15_000 };

/** The only node there is. */
const SHARES = { names: [NAME], counts: [1], ranks: [0], byGroup: [], leftOut: [] };
const ARRAYS = [SHARES.names, SHARES.counts, SHARES.ranks];
const TABLES = tablesOf(SCHEMA);

/** What was measured since the last `take`. */
export interface Measured {
  claimMs: number[];
  completeMs: number[];
  loadMs: number[];
  loadBuffers: number[];
  /** From the front of the index, where what is dead lies. */
  sweepMs: number[];
  sweepBuffers: number[];
  pruneMs: number[];
  through: number;
  /** Delays that a claim or a completion did not get, which should be none. */
  missed: number;
}

const nothing = (): Measured => ({
  claimMs: [],
  completeMs: [],
  loadMs: [],
  loadBuffers: [],
  sweepMs: [],
  sweepBuffers: [],
  pruneMs: [],
  through: 0,
  missed: 0,
});

/**
 * A steady rate of delays by the engine's own statements, on connections as one node has them:
 * scheduled, claimed when they are due, completed into history, history pruned; and beside them the
 * load of the loader and the pass of the scanner.
 */
export class Traffic {
  readonly #delays = new DelayStore(SCHEMA, 'ends', NODE);
  #clients: Client[] = [];
  #running: Promise<unknown> | undefined;
  #stopped = false;
  #measured = nothing();
  #scheduled = 0;

  constructor(
    private readonly perSecond: number,
    private readonly keepMs: number,
  ) {}

  async start(url: string): Promise<void> {
    const lanes = await Promise.all(Array.from({ length: 5 }, () => this.#open(url)));
    const [producer, worker, loader, scanner, pruner] = lanes as [Lane, Lane, Lane, Lane, Lane];
    this.#running = Promise.all([
      this.#produceAndRun(producer, worker),
      this.#every(LOAD_EVERY_MS, () => this.#load(loader)),
      this.#every(SWEEP_EVERY_MS, () => this.#sweep(scanner)),
      this.#every(PRUNE_EVERY_MS, () => this.#prune(pruner)),
    ]);
  }

  /** Answers what was measured since it was last asked. */
  take(): Measured {
    const measured = this.#measured;
    this.#measured = nothing();
    return measured;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    await Promise.all(this.#clients.map((client) => client.end()));
  }

  async #open(url: string): Promise<Lane> {
    const client = await connect(url);
    this.#clients.push(client);
    const runner: Runner = {
      query: async <Row>(sql: string, parameters: unknown[]) =>
        (await client.query<Row & object>(sql, parameters)).rows,
    };
    return {
      client,
      runner,
      work: new AttemptStore(runner, SCHEMA, 'ends', NODE),
      node: new NodeStore(runner, SCHEMA, NODE),
    };
  }

  /** On a timetable, so that a slow statement is followed by two and the rate stays what it is. */
  async #produceAndRun(producer: Lane, worker: Lane): Promise<void> {
    const batch = Math.max(1, Math.round((this.perSecond * EVERY_MS) / 1_000));
    const due: { atMs: number; rows: Waiting[] }[] = [];
    const startedAtMs = performance.now();
    const produce = async (): Promise<void> => {
      for (let n = 1; !this.#stopped; n += 1) {
        const rows = await this.#schedule(producer, batch);
        due.push({ atMs: performance.now() + WAITS_MS, rows });
        await pause(Math.max(0, startedAtMs + n * EVERY_MS - performance.now()));
      }
    };
    const run = async (): Promise<void> => {
      while (!this.#stopped) {
        const next = due[0];
        if (next === undefined || next.atMs > performance.now()) await pause(1);
        else await this.#run(worker, due.shift()!.rows);
      }
    };
    await Promise.all([produce(), run()]);
  }

  async #schedule({ runner }: Lane, count: number): Promise<Waiting[]> {
    const first = this.#scheduled;
    this.#scheduled += count;
    const placements = Array.from({ length: count }, (_, index) => placement(first + index));
    return (await this.#delays.place(runner, placements)).map(({ id, epoch }) => ({
      id,
      epoch: epoch ?? 0,
    }));
  }

  async #run({ work }: Lane, rows: readonly Waiting[]): Promise<void> {
    const measured = this.#measured;
    const wanted = rows.map((row) => ({ ...row, leaseMs: 30_000, maxAttempts: 10 }));
    const claimed = await timed(measured.claimMs, () => work.claim(wanted));
    const done = await timed(measured.completeMs, () =>
      work.complete(claimed.map(({ id, epoch }) => ({ id, epoch, latenessMs: 0 }))),
    );
    measured.through += done.length;
    measured.missed += rows.length - done.length;
  }

  /** Timed as the engine sends it, and once more under EXPLAIN, which counts the pages. */
  async #load({ client, node }: Lane): Promise<void> {
    const fromMs = (await databaseMs(client)) - GRACE_MS;
    await timed(this.#measured.loadMs, () =>
      node.load(
        SHARES,
        { wakeMs: fromMs, id: 0 },
        { ...LOAD, isPresent: false, instance: 'churn' },
      ),
    );
    const parameters = [
      NODE,
      ...ARRAYS,
      fromMs,
      0,
      HORIZON_MS,
      PAGE_MAX,
      HORIZON_MS,
      false,
      null,
      'churn',
    ];
    this.#measured.loadBuffers.push(await buffersOf(client, loadSql(TABLES), parameters));
  }

  async #sweep({ client, node }: Lane): Promise<void> {
    await timed(this.#measured.sweepMs, () => node.sweep(SHARES, null, SWEEP));
    const { scan, limit, helpAfterMs, aheadMs } = SWEEP;
    const parameters = [...ARRAYS, null, 0, scan, limit, helpAfterMs, aheadMs, null, 0];
    this.#measured.sweepBuffers.push(await buffersOf(client, sweepSql(TABLES), parameters));
  }

  async #prune({ node }: Lane): Promise<void> {
    await timed(this.#measured.pruneMs, () => node.prune(this.keepMs, PAGE_MAX));
  }

  async #every(ms: number, work: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      await work();
      await pause(ms);
    }
  }
}

interface Lane {
  client: Client;
  runner: Runner;
  work: AttemptStore;
  node: NodeStore;
}

interface Waiting {
  id: number;
  epoch: number;
}

interface Buffers {
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
}

async function timed<Result>(into: number[], work: () => Promise<Result>): Promise<Result> {
  const startedAtMs = performance.now();
  const result = await work();
  into.push(performance.now() - startedAtMs);
  return result;
}

/** Pages of tables and indexes that the statement touches. */
async function buffersOf(client: Client, sql: string, parameters: unknown[]): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': { Plan: Buffers }[] }>(
    `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${sql}`,
    parameters,
  );
  const plan = rows[0]?.['QUERY PLAN'][0]?.Plan;
  if (plan === undefined) throw new Error('EXPLAIN gave no plan');
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

async function databaseMs(client: Client): Promise<number> {
  const { rows } = await client.query<{ ms: number }>(
    'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
  );
  return rows[0]?.ms ?? 0;
}

/** Padded, because `place` wants its keys in order. */
function placement(n: number): NewDelay {
  const orderId = String(n).padStart(12, '0');
  return {
    name: NAME,
    key: orderId,
    payload: JSON.stringify({ orderId }),
    to: { kind: 'after', ms: WAITS_MS / 2 },
    maxAttempts: null,
    group: null,
    headers: null,
    onConflict: 'replace',
  };
}
