import { type DelayClaimMessage, delayChannels, traced } from '../api/channels.js';
import { describeError } from '../api/error-text.js';
import {
  isLasting,
  isRefusedByServer,
  isTooMuch,
  readSqlState,
} from '../database/driver-errors.js';
import { readOccurrence } from '../recurrence/occurrence.js';
import type { LimitLeft, LimitStore, LimitRule } from '../store/limit.store.js';
import type { ClaimedRow } from '../store/rows/answers.js';
import type { ClaimRequest } from '../store/rows/attempt-rows.js';
import { groupText } from '../store/rows/delay-rows.js';
import { isUnreadable } from '../store/rows/row-rules.js';
import { type Growth, pauseMs, retryPauseMs } from '../tasks/pauses.js';
import { TaskHealth } from '../tasks/task-health.js';
import { Attempt, NO_HOLDER, type RowExtras } from './attempt.js';
import { ClaimSizes } from './claim-sizes.js';
import type { Completer } from './completer.js';
import type { WorkerContext } from './context.js';
import type { Job } from './job.js';
import { UNREADABLE } from './occurrence-end.js';
import type { TimerQueue } from './timer-queue.js';
import type { Throttles } from './limits.js';
import type { NameStates } from './name-state.js';

const FIRST_MS = new Date('0001-01-01T00:00:00Z').getTime();
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Why no handler may get this row, although a claim could read it. Undefined: it is readable. */
function whyUnreadable({ row, extras }: Attempt): string | undefined {
  if (!isInstant(row.due_ms)) return isUnreadable('due_at');
  if (!isInstant(row.created_ms)) return isUnreadable('created_at');
  if (row.attempts < 1) return isUnreadable('attempts');
  return row.extras === null ? undefined : unreadableExtras(extras);
}

function unreadableExtras({ group, headers, repeat }: Record<keyof RowExtras, unknown>) {
  if (group === '') return isUnreadable('group_id');
  if (!isObject(headers)) return isUnreadable('headers');
  const values = Object.values(headers);
  if (values.some((value) => typeof value !== 'string')) return isUnreadable('headers');
  return repeat === null || isObject(repeat) ? undefined : isUnreadable('repeat');
}

const isInstant = (ms: number): boolean => ms >= FIRST_MS && ms < LAST_MS + 1;

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Pauses of a delay whose claim failed alone: refused, or over a limit of time or memory. */
const ALONE: Growth = { firstMs: 1_000, factor: 2, lastMs: 60_000, jitter: 0.5 };

/** Refused claims in a row before all claims pause: enough to halve the largest one down to one. */
const REFUSED_MAX = 12;

export interface Claimed {
  rows: ReadonlyMap<number, ClaimedRow>;
  /** `performance.now()` before the claim was sent: no lease began earlier. */
  askedAtMs: number;
  /** Names and groups whose limits have no slot left: their unclaimed entries keep waiting. */
  full: ReadonlySet<string>;
}

interface NotAnswered {
  /** How long to claim nothing, in milliseconds. */
  pauseMs: number;
}

interface ClaimerParts extends Pick<
  WorkerContext,
  'store' | 'limitStore' | 'registry' | 'clock' | 'jobs' | 'events' | 'claimBatch'
> {
  throttles: Throttles;
  queue: TimerQueue;
  completer: Completer;
  names: Pick<NameStates, 'of'>;
}

export class Claimer {
  readonly sizes: ClaimSizes;
  readonly #health: TaskHealth;
  #failures = 0;
  /** The last failed claim may still be committed, and hides its rows until then. */
  #mayBeHidden = false;
  #wakeOff: (() => void) | undefined;
  #isStopped = false;

  constructor(private readonly parts: ClaimerParts) {
    this.#health = new TaskHealth(parts.events, 'claim');
    this.sizes = new ClaimSizes(parts.claimBatch, parts.names);
  }

  /** From now on every claimed row is given back. */
  stop(): void {
    this.#isStopped = true;
    this.#wakeOff?.();
  }

  /** A claim that fails does not throw: its entries are tried again later. */
  claim(entries: readonly Job[]): Promise<Claimed | NotAnswered> {
    const { claim: channel } = delayChannels;
    if (!channel.hasSubscribers) return this.#claim(entries);
    const message: DelayClaimMessage = { node: this.parts.store.nodeName, count: entries.length };
    return traced(
      channel,
      message,
      () => this.#claim(entries, message),
      (answer) => {
        if ('rows' in answer) message.claimed = answer.rows.size;
      },
    );
  }

  /** @param message gets the error */
  async #claim(
    entries: readonly Job[],
    message?: DelayClaimMessage,
  ): Promise<Claimed | NotAnswered> {
    const requests = entries.map((entry) => this.#request(entry));
    const ended = this.sizes.begin(entries);
    const askedAtMs = performance.now();
    let rows: ClaimedRow[];
    let left: LimitLeft[] = [];
    try {
      const rules = this.#rulesOf(entries);
      if (rules.length === 0) rows = await this.parts.store.claim(requests);
      else ({ rows, left } = await this.#claimLimited(requests, rules));
    } catch (error) {
      if (message !== undefined) message.error = error;
      return { pauseMs: await this.#failed(entries, error) };
    } finally {
      ended();
    }
    this.sizes.worked(entries, performance.now() - askedAtMs);
    if (rows.length > 0 || !this.#mayBeHidden) this.#worked();
    // Keeps the clock of a busy node right: no other statement is answered as fast as a claim.
    if (rows[0]) this.parts.clock.sample(askedAtMs, performance.now(), rows[0].now_ms);
    for (const { id } of rows) this.parts.jobs.found(id);
    return { rows: new Map(rows.map((row) => [row.id, row])), askedAtMs, full: filledLimits(left) };
  }

  /** Calls `wake` once, when another background task works again. */
  whenAnotherWorks(wake: () => void): void {
    this.#wakeOff?.();
    this.#wakeOff = this.#health.whenAnotherWorks(wake);
  }

  #worked(): void {
    this.#failures = 0;
    this.#mayBeHidden = false;
    this.#wakeOff?.();
    this.#health.worked();
  }

  /** Undefined when no handler runs: the row is given back, set aside, passed on or skipped. */
  attempt(row: ClaimedRow, askedAtMs: number): Attempt | undefined {
    const handler = this.parts.registry.get(row.name);
    const leaseEndsAtMs = askedAtMs + (handler?.leaseMs ?? 0);
    // The process may have stood still meanwhile: another node may have the row by now, or a caller
    // may have read that it is cancelled.
    const isOver = leaseEndsAtMs <= performance.now();
    if (handler === undefined || isOver || this.#isStopped) {
      this.parts.completer.giveBack(row.id, row.epoch);
      return undefined;
    }
    const startedMs = this.#startedMs(row, askedAtMs);
    const attempt = new Attempt(row, handler, leaseEndsAtMs, startedMs - row.due_ms);
    const why = whyUnreadable(attempt);
    if (why === undefined) return attempt.extras.repeat === null ? attempt : this.#recur(attempt);
    this.parts.completer.setAside(attempt, why);
    return undefined;
  }

  /** What is due is the instant that the run stands for. */
  #recur(attempt: Attempt): Attempt | undefined {
    const { row, extras } = attempt;
    const clock = this.parts.clock.afterReading(row.now_ms, performance.now());
    const occurrence = readOccurrence(extras.repeat, row.due_ms, clock);
    if (occurrence === null) return this.#unreadable(attempt);
    attempt.occurrence = occurrence;
    if (occurrence.isMissed && row.attempts === 1) {
      this.parts.completer.skip(attempt);
      return undefined;
    }
    attempt.latenessMs += row.due_ms - occurrence.dueMs;
    row.due_ms = occurrence.dueMs;
    return attempt;
  }

  /** For lateness only: the clock's estimate, within the bounds that the claim's answer gives. */
  #startedMs({ now_ms: readMs }: ClaimedRow, askedAtMs: number): number {
    const latestMs = readMs + performance.now() - askedAtMs;
    return Math.min(latestMs, Math.max(readMs, this.parts.clock.nowMs()));
  }

  /**
   * This node cannot read when it is due next: a newer version of the application may have written
   * it, and may run on another node.
   */
  #unreadable(attempt: Attempt): undefined {
    attempt.holder = NO_HOLDER;
    attempt.over = true;
    attempt.calledAtMs = performance.now();
    this.parts.completer.report(attempt, { kind: 'unreadable', error: new Error(UNREADABLE) });
  }

  async #claimLimited(
    requests: readonly ClaimRequest[],
    rules: readonly LimitRule[],
  ): ReturnType<LimitStore['claim']> {
    this.parts.throttles.ask();
    try {
      const answer = await this.parts.limitStore.claim(requests, rules);
      this.parts.throttles.learn(answer.left);
      return answer;
    } finally {
      this.parts.throttles.answered();
    }
  }

  /** Rules of the names in one claim: either all of them have limits, or none has. */
  #rulesOf(entries: readonly Job[]): LimitRule[] {
    const rules = new Map<string, LimitRule>();
    for (const { name } of entries) {
      const limits = this.parts.registry.get(name)?.limits;
      if (limits == null) return [];
      rules.set(name, { name, ...limits });
    }
    return [...rules.values()];
  }

  #request(entry: Job): ClaimRequest {
    const handler = this.parts.registry.get(entry.name);
    if (handler === undefined) throw new Error(`no handler for ${entry.name}`);
    return {
      id: entry.id,
      epoch: entry.epoch,
      leaseMs: handler.leaseMs,
      maxAttempts: handler.maxAttempts,
      fenced: handler.transactional,
    };
  }

  /**
   * Halves the next claims of these delays, down to one. A delay that fails alone is reported with
   * its id and pauses; the others run.
   *
   * @returns how long to claim nothing, in milliseconds
   */
  async #failed(entries: readonly Job[], error: unknown): Promise<number> {
    this.#failures += 1;
    const [only, ...others] = entries;
    const isAlone = only !== undefined && others.length === 0;
    const mayBeLess = isTooMuch(error) || isLasting(error);
    const told = isAlone && mayBeLess ? errorOfOne(only, error) : error;
    // Claims of others, which work, say nothing of a delay that is refused.
    if (told !== error && isRefusedByServer(error))
      this.parts.events.emit('taskFailed', { task: 'claim', error: told });
    else this.#health.failed(told);
    if (!isRefusedByServer(error)) return this.#unknown(entries, mayBeLess);
    const soonMs = retryPauseMs(mayBeLess ? this.#failures - REFUSED_MAX : this.#failures);
    // Once an unreadable row is set aside, the others may all be fine.
    const isMended =
      isLasting(error) &&
      (await this.parts.completer.deadLetters.setAside(entries.map(({ id }) => id))) > 0;
    if (mayBeLess && !isMended) this.sizes.failed(entries);
    for (const entry of entries) {
      // Otherwise the pause of all claims is enough.
      const restMs = isAlone && mayBeLess && !isMended ? this.#restMs(entry) : 0;
      this.parts.queue.again(entry, restMs);
    }
    return soonMs;
  }

  /**
   * The claim may have been committed. Then this node holds the rows under the next epoch, without
   * an attempt, and gives them back. Only then are the entries tried again: a claim in between
   * would get the same epoch, and be given back by mistake. The commit may also come later, so the
   * claims are remembered. The entries need no pause of their own; all claims pause.
   */
  #unknown(entries: readonly Job[], mayBeLess: boolean): number {
    this.#mayBeHidden = true;
    if (mayBeLess) this.sizes.failed(entries);
    for (const entry of entries) {
      const epoch = entry.epoch + 1;
      this.parts.jobs.lose(entry.id, epoch);
      this.parts.completer.giveBack(entry.id, epoch, () => this.parts.queue.again(entry, 0));
    }
    return retryPauseMs(this.#failures);
  }

  #restMs(entry: Job): number {
    entry.timesNotClaimed += 1;
    return pauseMs(ALONE, entry.timesNotClaimed);
  }
}

/** Names the delay. Postgres's message holds no payload. */
function errorOfOne({ id, name }: Job, error: unknown): Error {
  const told = new Error(`${name} #${id} cannot be claimed: ${describeError(error)}`, {
    cause: error,
  });
  const code = readSqlState(error);
  return code === undefined ? told : Object.assign(told, { code });
}

const filledLimits = (left: readonly LimitLeft[]): ReadonlySet<string> =>
  new Set(left.filter(({ slots }) => slots <= 0).map(({ name, group }) => groupText(name, group)));
