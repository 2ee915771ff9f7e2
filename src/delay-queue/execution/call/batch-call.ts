import type { EntityManager } from 'typeorm';
import type { Handler } from '../../handlers/handler.js';
import type { Attempt } from './attempt.js';
import type { Outcome } from '../../settlement/outcome.js';
import type { Call } from './call.js';

/**
 * Attempts of one name that one call of a batch handler runs. It commits or fails as a whole, with
 * two exceptions: what the handler says of one of them (`ctx.fail`, `ctx.postpone`), and an attempt
 * that loses its lease alone.
 */
export class BatchCall implements Call {
  manager: EntityManager | undefined;
  called = false;
  onCut: ((outcome: Outcome) => void) | undefined;
  readonly hasContext = true;

  readonly #size: number;
  readonly #open: Set<Attempt>;
  readonly #decided = new Map<Attempt, Outcome>();
  readonly #said = new Map<Attempt, Outcome>();
  readonly #aborted = new Set<Attempt>();
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #over = false;
  #committing = false;

  /** @param attempts at least one */
  constructor(
    readonly handler: Handler,
    attempts: readonly Attempt[],
  ) {
    this.#size = attempts.length;
    this.#open = new Set(attempts);
    for (const attempt of attempts) {
      attempt.onAbort = (reason) => this.#abortedOne(attempt, reason);
      attempt.onCut = (outcome) => this.#decide(attempt, outcome);
    }
  }

  get attempts(): readonly Attempt[] {
    return [...this.#open];
  }

  get completing(): readonly Attempt[] {
    return this.attempts.filter((attempt) => !this.#said.has(attempt));
  }

  get over(): boolean {
    return this.#over;
  }

  set over(over: boolean) {
    this.#over = over;
    for (const attempt of this.#open) attempt.over = over;
  }

  get committing(): boolean {
    return this.#committing;
  }

  /** Only of those whose removal is in the transaction. */
  set committing(committing: boolean) {
    this.#committing = committing;
    for (const attempt of this.completing) attempt.committing = committing;
  }

  get closing(): boolean {
    return this.attempts.some((attempt) => attempt.closing);
  }

  get leaseEndsAtMs(): number {
    return this.attempts.reduce(
      (first, { leaseEndsAtMs }) => Math.min(first, leaseEndsAtMs),
      Infinity,
    );
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  cut(outcome: Outcome): void {
    for (const attempt of this.attempts) attempt.cut(outcome);
  }

  keepOnly(ids: ReadonlySet<number>): boolean {
    for (const attempt of this.attempts) {
      if (!ids.has(attempt.id)) this.#leaveOut(attempt, { kind: 'lost' });
    }
    // Whoever asks will end the call: it is not cut, or its session would end with it.
    return this.#open.size > 0;
  }

  attemptOf(name: string, key: string | null): Attempt | undefined {
    if (name !== this.handler.name || key === null) return undefined;
    return this.attempts.find((attempt) => attempt.key === key);
  }

  /** What the handler says of one of its delays. @returns whether it is one of those still open */
  say(id: unknown, outcome: Outcome): boolean {
    const attempt = this.attempts.find((each) => String(each.id) === id);
    if (attempt === undefined) return false;
    this.#said.set(attempt, outcome);
    return true;
  }

  /**
   * A batch that failed is done again, each delay alone and none for an attempt: which of them was
   * the cause is not known. Nor is it known whom a `DiscardDelay` that the whole batch throws is for.
   */
  *outcomes(outcome: Outcome): Generator<[Attempt, Outcome]> {
    for (const decided of this.#decided) yield [decided[0], this.#alone(decided[1])];
    for (const attempt of this.#open) {
      const said = outcome.kind === 'completed' ? this.#said.get(attempt) : undefined;
      yield [attempt, said ?? this.#alone(outcome)];
    }
  }

  #alone(outcome: Outcome): Outcome {
    if (this.#size === 1) return outcome;
    if (outcome.kind === 'failed') return { kind: 'split', error: outcome.error };
    if (outcome.kind === 'discarded') return { kind: 'split', error: outcome.reason };
    return outcome;
  }

  #decide(attempt: Attempt, outcome: Outcome): void {
    if (this.#over || !this.#open.has(attempt)) return;
    this.#leaveOut(attempt, outcome);
    if (this.#open.size === 0) this.onCut?.(outcome);
  }

  #leaveOut(attempt: Attempt, outcome: Outcome): void {
    this.#open.delete(attempt);
    attempt.over = true;
    this.#decided.set(attempt, outcome);
  }

  /** One lost lease is no reason to stop for the others. */
  #abortedOne(attempt: Attempt, reason: Error): void {
    this.#aborted.add(attempt);
    if (this.attempts.every((each) => this.#aborted.has(each))) this.abort(reason);
  }
}

/** The call that runs these attempts, all of one name; undefined when there are none. */
export function callOf(attempts: readonly Attempt[]): Call | undefined {
  const [first] = attempts;
  return first === undefined || first.handler.batch === null
    ? first
    : new BatchCall(first.handler, attempts);
}
