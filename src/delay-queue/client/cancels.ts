import { setTimeout as pause } from 'node:timers/promises';
import type { CancelResult, ChangeOptions, InTransaction } from '../api/delay.js';
import { DelayInvalidError, DelayUnavailableError, DelayUnstableError } from '../api/errors.js';
import { checkKnownOptions, shown } from '../config/known-options.js';
import { parseDurationBetween } from '../config/durations.js';
import { ON_PRIMARY } from '../database/tables.js';
import { type Growth, pauseMs } from '../tasks/pauses.js';
import { within } from '../tasks/signal.js';
import { isInTransaction } from '../transactions/callers-transaction.js';
import type { Transactions } from '../transactions/transactions.js';
import { actingCall, currentCall } from '../transactions/handler-context.js';
import { byOf, type NameAndKey, type Target } from './arguments.js';

/** How long a cancel waits by default for an attempt to end. */
const ABORT_WITHIN_MS = 5_000;

export interface Cancelling {
  transaction: ChangeOptions;
  /** How long to wait for running attempts to end; undefined: they are left alone. */
  abortWithinMs: number | undefined;
}

/** Separates a cancel's own options from the rest. @throws DelayInvalidError naming the option */
export function cancellingMatchingOf(options: unknown): { cancelling: Cancelling; rest: object } {
  const known = ['manager', 'by', 'signal', 'onProgress', 'running', 'abortWithin'];
  const { running, abortWithin, ...rest } = checkKnownOptions(options, 'options', known);
  const cancel = Object.entries({ running, abortWithin }).filter(
    ([, value]) => value !== undefined,
  );
  return { cancelling: cancellingOf(Object.fromEntries(cancel)), rest };
}

/** @throws DelayInvalidError naming the option */
export function cancellingOf(options: unknown): Cancelling {
  const given = checkKnownOptions(options, 'options', ['manager', 'by', 'running', 'abortWithin']);
  const { running = 'leave', abortWithin } = given;
  const transaction: ChangeOptions = {
    ...('manager' in given && { manager: given['manager'] as never }),
    ...byOf(given),
  };
  if (running !== 'leave' && running !== 'abort') {
    throw new DelayInvalidError('running', `must be 'leave' or 'abort', not ${shown(running)}`);
  }
  if (running === 'leave') {
    if (abortWithin === undefined) return { transaction, abortWithinMs: undefined };
    throw new DelayInvalidError('abortWithin', "is only for `running: 'abort'`");
  }
  const abortWithinMs =
    abortWithin === undefined
      ? ABORT_WITHIN_MS
      : parseDurationBetween(abortWithin, 'abortWithin', '1ms', '1h');
  return { transaction, abortWithinMs };
}

/** Pauses between checks for the end of an attempt. An aborted delay waits longer: one second. */
const PAUSE: Growth = { firstMs: 5, factor: 2, lastMs: 250, jitter: 0.5 };

/** The engine, which reaches attempts on all nodes. */
export interface AbortsEngine {
  /** Asks the attempts that hold these delays to end. Only the row shows whether they did. */
  abort(ids: readonly number[]): Promise<void>;
}

/** Cancels one delay, unless it runs. */
interface CancelsOne {
  cancel(target: NameAndKey, options: ChangeOptions): Promise<CancelResult>;
}

/** Cancels the delays of a list, except those that run. */
interface CancelsMany {
  change(
    verb: 'cancel',
    targets: readonly Target[],
    options: ChangeOptions,
    to: undefined,
    first?: () => Promise<void>,
  ): Promise<CancelResult[]>;
}

/** Cancels delays; with `running: 'abort'` also those that run. */
export class Cancels {
  constructor(
    private readonly transactions: Transactions,
    private readonly engine: AbortsEngine,
    private readonly single: CancelsOne,
    private readonly many: CancelsMany,
  ) {}

  async one(target: NameAndKey, cancelling: Cancelling): Promise<CancelResult> {
    const { transaction } = cancelling;
    const [result] = await this.#cancel([target], cancelling, async ([only]) => [
      await this.single.cancel(only as NameAndKey, transaction),
    ]);
    return result as CancelResult;
  }

  async list(targets: readonly Target[], cancelling: Cancelling): Promise<CancelResult[]> {
    const { transaction, abortWithinMs } = cancelling;
    // First, and in the call's turn: what was cancelled before a refusal would stay cancelled.
    let first = abortWithinMs === undefined ? undefined : () => this.refuseSnapshots(transaction);
    return await this.#cancel(targets, cancelling, (some) => {
      const refuse = first;
      first = undefined;
      return this.many.change('cancel', some, transaction, undefined, refuse);
    });
  }

  /**
   * Each round is an ordinary cancel, so its verdict is true: only the row decides what became of
   * the attempt. The calling handler's own attempts are left alone: the call would wait for itself.
   * @param cancel cancels the given targets; without a manager, each time in a new transaction
   * @throws DelayInvalidError if the transaction would not see an attempt end; nothing is cancelled
   */
  async #cancel<Of>(
    targets: readonly Of[],
    { transaction, abortWithinMs }: Cancelling,
    cancel: (targets: readonly Of[]) => Promise<CancelResult[]>,
  ): Promise<CancelResult[]> {
    if (abortWithinMs === undefined) return await cancel(targets);
    const giveUpAtMs = performance.now() + abortWithinMs;
    return await this.#ended(targets, await cancel(targets), { transaction, giveUpAtMs }, cancel);
  }

  /**
   * Ends the running attempts of one page of a filter, after the page's first cancel.
   * @param page the result for each of these ids
   * @param cancel cancels the given ids
   */
  async ending(
    ids: readonly number[],
    page: CancelResult[],
    { transaction, abortWithinMs }: { transaction: InTransaction; abortWithinMs: number },
    cancel: (ids: readonly number[]) => Promise<CancelResult[]>,
  ): Promise<CancelResult[]> {
    const giveUpAtMs = performance.now() + abortWithinMs;
    return await this.#ended(ids, page, { transaction, giveUpAtMs }, cancel);
  }

  async #ended<Of>(
    targets: readonly Of[],
    results: CancelResult[],
    { transaction, giveUpAtMs }: { transaction: InTransaction; giveUpAtMs: number },
    cancel: (targets: readonly Of[]) => Promise<CancelResult[]>,
  ): Promise<CancelResult[]> {
    const manager = transaction.manager === 'own' ? undefined : transaction.manager;
    const calls = [currentCall(), actingCall(manager)];
    const own = new Set(calls.flatMap((call) => call?.attempts.map(({ id }) => id) ?? []));
    for (let looks = 1; ; looks += 1) {
      const running = runningOf(results).filter(({ id }) => !own.has(id));
      const leftMs = giveUpAtMs - performance.now();
      if (running.length === 0 || leftMs <= 0) return results;
      if (looks === 1) await this.refuseSnapshots(transaction);
      const ids = running.map(({ id }) => id);
      await within(this.engine.abort(ids), leftMs);
      await pause(Math.min(leftMs, pauseMs(PAUSE, looks)));
      const open = running.map(({ index }) => targets[index] as Of);
      const again = await unlessHeld(manager === undefined, () => cancel(open));
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
    const { manager, runner } = this.transactions.of(options, 'write');
    if (manager === undefined || !(await isInTransaction(manager))) return;
    const [row] = await runner.query<{ level: string }>(
      `${ON_PRIMARY} SELECT pg_catalog.current_setting('transaction_isolation') AS level`,
      [],
    );
    if (row?.level === 'read committed') return;
    throw new DelayInvalidError(
      'running',
      `'abort' in a ${row?.level.toUpperCase()} transaction would not see the attempt end: leave out \`manager\`, ` +
        'or begin the transaction with READ COMMITTED',
    );
  }
}

const runningOf = (results: readonly CancelResult[]): { id: number; index: number }[] =>
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
