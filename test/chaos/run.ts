import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figures, Verdict } from './checker/check.js';
import type { SourcePatch } from '../../tools/source-patches.mjs';
import { ChaosRun } from './chaos-run.js';
import type { Sql } from './record/record.js';
import type { ChaosServer } from './server/chaos-server.js';

/** What a run is asked to do. */
export interface ChaosOptions {
  /** Load with faults and the calm before them; what comes after is as long as it takes. */
  minutes: number;
  /** How long there are no faults at first: until everybody is at work. */
  calmMs: number;
  /** Every choice of the run follows from it; what the machine makes of them does not. */
  seed: string;
  /** Kinds of faults; empty: none. */
  faults: readonly string[];
  /** Delays per second that all producers together ask for. */
  rate: number;
  workers: number;
  producers: number;
  /** The engine with one rule taken out; left out: as it is. */
  patches?: readonly SourcePatch[];
  /** How long the rest may take once producers and faults have stopped, in milliseconds. */
  quietWithinMs: number;
  /** It outlives the run: several runs follow each other on it. */
  server: ChaosServer;
  log: (line: string) => void;
  /** Stops the run, and everything that it started. */
  signal: AbortSignal;
  /** Clients' logs, output and the record stay in a folder when something was violated. */
  keepsEvidence?: boolean;
}

export interface ChaosResult {
  verdicts: Verdict[];
  figures: Figures;
  /** What no fault explains: processes that end by themselves or do not stop, faults that fail. */
  odd: string[];
  /** A folder for a person who asks why: clients' logs and the record. */
  evidence?: string;
}

const TABLES = ['step', 'life', 'effect', 'client', 'fault'];

/** Of every sort: a run without any of them is a good one. */
export const violationsOf = ({ verdicts, odd }: ChaosResult): number =>
  verdicts.reduce((sum, { violations }) => sum + violations, odd.length);

/** Does a whole run: load, calm, faults, quiet, verdict. Leaves nothing behind but kept evidence. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const database = await options.server.freshDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'delay-queue-chaos-run-'));
  let isKept = false;
  try {
    const run = new ChaosRun(options, database, folder);
    const result = await run.run().finally(() => run.close());
    isKept = options.keepsEvidence === true && violationsOf(result) > 0;
    if (!isKept) return result;
    for (const table of TABLES) await writeTable(database.sql, table, folder);
    return { ...result, evidence: folder };
  } finally {
    if (!isKept) await rm(folder, { recursive: true, force: true });
    await database.drop();
  }
}

async function writeTable(sql: Sql, table: string, folder: string): Promise<void> {
  const rows = await sql<{ line: string }>(`SELECT to_json(t)::text AS line FROM chaos.${table} t`);
  const lines = rows.map(({ line }) => `${line}\n`);
  await writeFile(join(folder, `${table}.json-lines`), lines.join(''));
}
