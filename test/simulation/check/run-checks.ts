import type { Attempt } from '../../../src/delay-queue/engine/attempt.js';
import type { SimNode } from '../cluster/sim-node.js';
import { msOf, type Micros } from '../postgres/row.js';
import type { World } from '../world.js';

/** Watches handlers: when they begin, how many at once, and never twice for one claim. */
export class RunChecks {
  readonly #begun = new Set<string>();
  readonly #succeeded = new Set<string>();
  /** Attempts whose handler runs and is not given up, by node and name. */
  readonly #running = new WeakMap<SimNode, Map<string, Set<Attempt>>>();
  readonly #cancelled = new Set<number>();
  latenessMaxMs = 0;

  constructor(
    private readonly world: World,
    /** The database's clock. */
    private readonly now: () => Micros,
    /** That clock never jumped. */
    private readonly isClockTrue: () => boolean,
  ) {}

  begins(node: SimNode, attempt: Attempt): void {
    const { id, epoch, row, handler, name } = attempt;
    const claim = `${name} ${id}/${epoch}`;
    if (this.#begun.has(claim)) this.world.violate(`the claim ${claim} runs twice`);
    this.#begun.add(claim);
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
    const running = this.#runningOf(node, name);
    running.add(attempt);
    const count = [...running].filter((each) => !each.over).length;
    if (count > handler.concurrency) {
      this.world.violate(`${count} of ${name} on ${node.name}, not ${handler.concurrency}`);
    }
  }

  succeeds(node: SimNode, attempt: Attempt): void {
    this.#succeeded.add(`${attempt.id}/${attempt.epoch}`);
    this.world.note(node.name, `handler of ${attempt.name} ${attempt.id}/${attempt.epoch} is done`);
  }

  ends(node: SimNode, attempt: Attempt): void {
    this.#runningOf(node, attempt.name).delete(attempt);
  }

  /** Whether the handler of that claim ran to its end. */
  hasSucceeded(id: number, epoch: number): boolean {
    return this.#succeeded.has(`${id}/${epoch}`);
  }

  cancelled(id: number): void {
    this.#cancelled.add(id);
  }

  #runningOf(node: SimNode, name: string): Set<Attempt> {
    const byName = this.#running.get(node) ?? new Map<string, Set<Attempt>>();
    const running = byName.get(name) ?? new Set();
    this.#running.set(node, byName.set(name, running));
    return running;
  }
}
