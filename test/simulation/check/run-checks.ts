import type { Attempt } from '../../../src/delay-queue/execution/call/attempt.js';
import type { Call } from '../../../src/delay-queue/execution/call/call.js';
import type { SimNode } from '../cluster/sim-node.js';
import { msOf, type Micros } from '../postgres/row.js';
import type { World } from '../world.js';

const claimOf = ({ id, epoch }: { id: number; epoch: number }): string => `${id}/${epoch}`;

/** Watches handlers: when they begin, how many at once, with whom, and never twice for one claim. */
export class RunChecks {
  /** Claims whose handler began, and how many were in that call. */
  readonly #begun = new Map<string, number>();
  /** Claims that no batch may take. */
  readonly #lonely = new Set<string>();
  /** Claims of which their batch handler said that they are not done. */
  readonly #said = new Set<string>();
  readonly #succeeded = new Set<string>();
  /** Calls that run and are not given up, by node and name. */
  readonly #running = new WeakMap<SimNode, Map<string, Set<Call>>>();
  readonly #cancelled = new Set<number>();
  latenessMaxMs = 0;

  constructor(
    private readonly world: World,
    /** The database's clock. */
    private readonly now: () => Micros,
    /** That clock never jumped. */
    private readonly isClockTrue: () => boolean,
  ) {}

  begins(node: SimNode, call: Call): void {
    const { attempts, handler } = call;
    if (attempts.length > (handler.batch ?? 1)) {
      this.world.violate(`${attempts.length} of ${handler.name} in a batch of ${handler.batch}`);
    }
    for (const attempt of attempts) this.#begins(node, attempt, attempts.length);
    const running = this.#runningOf(node, handler.name);
    running.add(call);
    const count = [...running].filter((each) => !each.over).length;
    if (count > handler.concurrency) {
      this.world.violate(`${count} of ${handler.name} on ${node.name}, not ${handler.concurrency}`);
    }
  }

  /** @param together how many the call is for */
  #begins(node: SimNode, attempt: Attempt, together: number): void {
    const { id, row, name } = attempt;
    const claim = `${name} ${claimOf(attempt)}`;
    if (this.#begun.has(claimOf(attempt))) this.world.violate(`the claim ${claim} runs twice`);
    this.#begun.set(claimOf(attempt), together);
    if (together > 1 && this.#lonely.has(claimOf(attempt))) {
      this.world.violate(`${claim} runs in a batch, and an earlier attempt of it failed`);
    }
    const latenessMs = msOf(this.now()) - row.due_ms;
    if (attempt.leaseEndsAtMs <= node.process.monotonicMs()) {
      this.world.violate(`${claim} began when its lease was over, and its node could know`);
    }
    if (latenessMs < 0) this.world.violate(`${claim} began ${-latenessMs} ms early`);
    // A server that took over with a clock behind has not seen its due time yet.
    if (attempt.latenessMs < 0 && this.isClockTrue())
      this.world.violate(`${claim} reports a lateness below 0`);
    if (this.#cancelled.has(id)) this.world.violate(`${claim} began after it was cancelled`);
    if (row.attempts === 1) this.latenessMaxMs = Math.max(this.latenessMaxMs, latenessMs);
  }

  /** Its batch handler said that it is not done. */
  said(node: SimNode, attempt: Attempt): void {
    this.#said.add(claimOf(attempt));
    this.world.note(node.name, `handler of ${attempt.name} ${claimOf(attempt)} said so`);
  }

  /** A call that failed has said nothing. */
  fails(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) this.#said.delete(claimOf(attempt));
  }

  succeeds(node: SimNode, attempts: readonly Attempt[]): void {
    for (const attempt of attempts) {
      if (this.#said.has(claimOf(attempt))) continue;
      this.#succeeded.add(claimOf(attempt));
      this.world.note(node.name, `handler of ${attempt.name} ${claimOf(attempt)} is done`);
    }
  }

  ends(node: SimNode, call: Call): void {
    this.#runningOf(node, call.handler.name).delete(call);
  }

  /** Whether the handler of that claim ran to its end. */
  hasSucceeded(id: number, epoch: number): boolean {
    return this.#succeeded.has(claimOf({ id, epoch }));
  }

  /** A claim of what failed before, or was left without a word. */
  claimedAlone(claim: { id: number; epoch: number }): void {
    this.#lonely.add(claimOf(claim));
  }

  /** Whether it ran with others and nothing was said of it: it is not known to be the cause. */
  isInnocent(claim: { id: number; epoch: number }): boolean {
    return (this.#begun.get(claimOf(claim)) ?? 1) > 1 && !this.#said.has(claimOf(claim));
  }

  cancelled(id: number): void {
    this.#cancelled.add(id);
  }

  #runningOf(node: SimNode, name: string): Set<Call> {
    const byName = this.#running.get(node) ?? new Map<string, Set<Call>>();
    const running = byName.get(name) ?? new Set();
    this.#running.set(node, byName.set(name, running));
    return running;
  }
}
