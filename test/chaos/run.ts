import type { Verdict } from './checker/check.js';
import type { Figures } from './checker/figures.js';
import { ChaosRun } from './chaos-run.js';
import { Evidence } from './evidence.js';
import type { ChaosOptions } from './options.js';

export interface ChaosResult {
  verdicts: Verdict[];
  figures: Figures;
  /** What no fault explains: processes that end by themselves or do not stop, faults that fail. */
  odd: string[];
  /** A folder for a person who wants to know how it came to this. */
  evidence?: string;
}

/** Of every sort: a run without any of them is a good one. */
export const violationsOf = ({ verdicts, odd }: ChaosResult): number =>
  verdicts.reduce((sum, { violations }) => sum + violations, odd.length);

/** Does a whole run: load, calm, faults, quiet, verdict. Leaves nothing behind but kept evidence. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const database = await options.server.freshDatabase();
  const evidence = await Evidence.open();
  let isKept = false;
  try {
    const run = new ChaosRun(options, database, evidence);
    const result = await run.run().finally(() => run.close());
    isKept = options.keepsEvidence === true && violationsOf(result) > 0;
    if (!isKept) return result;
    await evidence.addRecord(database.sql);
    return { ...result, evidence: evidence.folder };
  } finally {
    if (!isKept) await evidence.discard();
    await database.drop();
  }
}
