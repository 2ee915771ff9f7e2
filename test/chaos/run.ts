import { ChaosRun, type ChaosResult } from './chaos-run.js';
import { Evidence } from './evidence.js';
import type { ChaosOptions } from './options.js';
import { openChaosServer } from './server/chaos-server.js';
import type { ChaosServer } from './world.js';

export type { ChaosResult } from './chaos-run.js';

/** Does a whole run: load, calm, faults, quiet, verdict. Leaves nothing behind but kept evidence. */
export async function runChaos(
  options: ChaosOptions,
): Promise<ChaosResult & { evidence?: string }> {
  const { server, drop } = await openDatabase(options);
  const evidence = await Evidence.open();
  let isKept = false;
  try {
    const run = new ChaosRun(options, server, evidence);
    let result: ChaosResult;
    try {
      result = await run.run();
    } finally {
      await run.close();
    }
    isKept = options.keepsEvidence === true && isViolated(result);
    if (!isKept) return result;
    await evidence.keep(server);
    return { ...result, evidence: evidence.folder };
  } finally {
    if (!isKept) await evidence.discard();
    await drop();
  }
}

const isViolated = ({ verdicts, odd }: ChaosResult): boolean =>
  odd.length > 0 || verdicts.some(({ violations }) => violations > 0);

async function openDatabase({
  server,
  log,
}: ChaosOptions): Promise<{ server: ChaosServer; drop: () => Promise<void> }> {
  if (server === undefined) {
    const own = await openChaosServer(log);
    return { server: own, drop: () => own.stop() };
  }
  const database = await server.freshDatabase();
  return { server: database, drop: () => database.drop() };
}
