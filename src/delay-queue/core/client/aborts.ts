import { setTimeout as pause } from 'node:timers/promises';
import type { CancelResult, InTransaction } from '../api/delay.js';
import { DelayInvalidError, DelayUnavailableError, DelayUnstableError } from '../api/errors.js';
import { ON_PRIMARY } from '../database/tables.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';
import { within } from '../tasks/signal.js';
import { isInTransaction, type Transactions } from '../transactions/transactions.js';
import type { SelfReschedules } from './self-reschedules.js';

/** Pauses between checks for the end of an attempt. An aborted delay waits longer: one second. */
const PAUSE: Growth = { firstMs: 5, factor: 2, lastMs: 250, jitter: 0.5 };

/** The engine, which reaches attempts on all nodes. */
export interface AbortsEngine {
  /** Asks the attempts that hold these delays to end. Only the row shows whether they did. */
  abort(ids: readonly number[]): Promise<void>;
}

/** Ends running attempts for cancels with `running: 'abort'`. */
export class Aborts {
  constructor(
    private readonly transactions: Transactions,
    private readonly engine: AbortsEngine,
    private readonly selfReschedules: Pick<SelfReschedules, 'runningIds'>,
  ) {}

  /**
   * Cancels again what still runs, until its attempts have ended. Each round is an ordinary cancel,
   * so its verdict is true: only the row decides what became of the attempt. The calling handler's
   * own attempts are left alone: the call would wait for itself.
   * @param results of the first cancel, one for each target; they are updated
   * @param cancel cancels the given targets; in no caller's transaction, each time in a new transaction
   */
  async end<Target>(
    targets: readonly Target[],
    results: CancelResult[],
    { transaction, giveUpAtMs }: { transaction: InTransaction; giveUpAtMs: number },
    cancel: (targets: readonly Target[]) => Promise<CancelResult[]>,
  ): Promise<CancelResult[]> {
    const { manager, tx } = transaction;
    const own = this.selfReschedules.runningIds(manager === 'own' ? undefined : manager);
    for (let looks = 1; ; looks += 1) {
      const running = stillRunning(results).filter(({ id }) => !own.has(id));
      const leftMs = giveUpAtMs - performance.now();
      if (running.length === 0 || leftMs <= 0) return results;
      if (looks === 1) await this.refuseSnapshots(transaction);
      const ids = running.map(({ id }) => id);
      await within(this.engine.abort(ids), leftMs);
      await pause(Math.min(leftMs, pauseMs(PAUSE, looks)));
      const open = running.map(({ index }) => targets[index] as Target);
      const again = await unlessHeld(tx === undefined && (manager ?? 'own') === 'own', () =>
        cancel(open),
      );
      for (const [position, result] of again.entries()) {
        const { index } = running[position] as { index: number };
        const before = results[index] as CancelResult;
        const hadRerun = before.verdict === 'running' && before.rerunCancelled;
        // What an earlier round removed stays removed.
        results[index] =
          result.verdict === 'running' && hadRerun ? { ...result, rerunCancelled: true } : result;
      }
    }
  }

  /** Such a transaction sees the row as it was when it began: leased, however often it reads. */
  async refuseSnapshots(options: InTransaction): Promise<void> {
    const { joined, runner } = this.transactions.of(options, 'write');
    if (joined === undefined || !(await isInTransaction(joined))) return;
    const [row] = await runner.query<{ level: string }>(
      `${ON_PRIMARY} SELECT pg_catalog.current_setting('transaction_isolation') AS level`,
      [],
    );
    if (row?.level === 'read committed') return;
    throw new DelayInvalidError(
      'running',
      `'abort' in a ${row?.level.toUpperCase()} transaction would not see the attempt end: leave out \`manager\` and \`tx\`, ` +
        'or begin the transaction with READ COMMITTED',
    );
  }
}

const stillRunning = (results: readonly CancelResult[]): { id: number; index: number }[] =>
  results.flatMap((result, index) =>
    result.verdict === 'running' ? [{ id: Number(result.id), index }] : [],
  );

/** In its own transaction, a cancel that could write nothing is repeated in the next round. */
async function unlessHeld(
  isAlone: boolean,
  look: () => Promise<CancelResult[]>,
): Promise<CancelResult[]> {
  try {
    return await look();
  } catch (error) {
    const wroteNothing =
      error instanceof DelayUnstableError || error instanceof DelayUnavailableError;
    if (isAlone && wroteNothing) return [];
    throw error;
  }
}
