import {
  DelayConflictError,
  DelayShutdownError,
  DelayUnavailableError,
} from '../../delay/delay.errors.js';
import { inLockOrder } from '../arguments.js';
import type { Answer, BatchStore, Move, Slot } from '../../store/batch.store.js';
import type { DelayStore } from '../../store/delay.store.js';
import type { Placed, Placement } from '../../store/wire/delay-rows.js';
import type { Runner } from '../../store/wire/runner.js';
import { slotOf } from '../../store/wire/delay-rows.js';
import { Coalescer } from './coalescer.js';
import { KeyLines } from './key-queues.js';
import { PendingCall, ownError } from './pending-call.js';

/** A call that stands in the line of its key for so long is not sent any more. */
const IN_LINE_MS_MAX = 15_000;

/** What the producer writes with. */
export interface ProducerParts {
  /** For calls that wait for somebody. */
  alone: DelayStore;
  /** For all others. */
  together: BatchStore;
  /** Each statement a transaction of its own. */
  runners: { alone: Runner; together: Runner };
  /** How long a shutdown waits for answers. */
  drainWithinMs: number;
}

/**
 * Writes that belong to no transaction of their caller: those of many calls travel in one statement.
 * Each call has the answer, or the error, that it would have had alone.
 */
export class Producer {
  readonly #lines = new KeyLines();
  /** In the order in which they were made. */
  readonly #open = new Set<PendingCall<unknown, Placed>>();
  readonly #placing: Coalescer<Placement, Placed>;
  readonly #placingKeyless: Coalescer<Placement, Placed>;
  readonly #cancelling: Coalescer<Slot, Placed>;
  readonly #moving: Coalescer<Move, Placed>;
  #giveUpAtMs: number | undefined;
  #isClosed = false;

  constructor(private readonly parts: ProducerParts) {
    const { alone, together, runners } = parts;
    const placing = {
      alone: async (placement: Placement) =>
        (await alone.place(runners.alone, [placement]))[0] as Placed,
      lengthOf: ({ payload }: Placement) => payload.length,
    };
    this.#placing = new Coalescer({
      ...placing,
      together: (placements, answer) => this.#placeTogether(placements, answer),
    });
    this.#placingKeyless = new Coalescer({
      ...placing,
      together: (placements, answer) => together.placeKeyless(runners.together, placements, answer),
    });
    this.#cancelling = new Coalescer({
      together: (slots, answer) => together.cancel(runners.together, slots, answer),
      alone: ({ name, key }) => alone.cancel(runners.alone, name, key),
      lengthOf: () => 0,
    });
    this.#moving = new Coalescer({
      together: (moves, answer) => together.reschedule(runners.together, moves, answer),
      alone: ({ name, key, to }) => alone.reschedule(runners.alone, name, key, to),
      lengthOf: () => 0,
    });
  }

  /** @throws DelayConflictError, DelayUnstableError, DelayUnavailableError, DelayOutcomeUnknownError,
   * DelayShutdownError, and what Postgres says */
  place(placement: Placement): Promise<Placed> {
    return this.#run(placement.key === null ? this.#placingKeyless : this.#placing, placement);
  }

  /** `cancelled`, `running` or `absent`. */
  cancel(slot: Slot): Promise<Placed> {
    return this.#run(this.#cancelling, slot);
  }

  /** `rescheduled`, `running` or `absent`. */
  reschedule(move: Move): Promise<Placed> {
    return this.#run(this.#moving, move);
  }

  /** Whether a call would come too late. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Drains the calls made so far, after which there may be no more. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.drain();
  }

  /**
   * Resolves when all calls made so far have their answer. Those that have none `drainWithinMs` after
   * the first drain are rejected, and whether they happened is not known: a pool that has ended
   * forgets who waits for a connection of it.
   */
  async drain(): Promise<void> {
    this.#giveUpAtMs ??= performance.now() + this.parts.drainWithinMs;
    const calls = [...this.#open];
    if (calls.length === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.max(0, (this.#giveUpAtMs ?? 0) - performance.now()));
    });
    await Promise.race([Promise.allSettled(calls.map(({ answer }) => answer)), tooLate]);
    clearTimeout(timer);
    // In the order in which they were made, so that each is first in the line of its key.
    for (const pending of calls) pending.reject(new DelayShutdownError());
  }

  /** The one `await` of a call: each costs it a promise, and many callers wait at a time. */
  async #run<Call extends { name: string; key: string | null }>(
    coalescer: Coalescer<Call, Placed>,
    call: Call,
  ): Promise<Placed> {
    const slot = call.key === null ? undefined : slotOf(call);
    const pending: PendingCall<Call, Placed> = new PendingCall(call, () => {
      this.#open.delete(pending);
      if (slot !== undefined) this.#lines.leave(slot);
    });
    this.#open.add(pending);
    if (slot === undefined || this.#lines.enter(slot)) coalescer.add(pending);
    else {
      const madeAtMs = performance.now();
      this.#lines.wait(slot, () => {
        if (performance.now() - madeAtMs > IN_LINE_MS_MAX) giveUp(pending);
        else coalescer.add(pending);
      });
    }
    let placed: Placed;
    try {
      placed = await pending.answer;
    } catch (error) {
      throw ownError(error);
    }
    if (placed.verdict === 'conflict') throw new DelayConflictError(call.name, call.key ?? '');
    return placed;
  }

  /** In the order in which all callers lock. */
  async #placeTogether(placements: readonly Placement[], answer: Answer): Promise<void> {
    const sorted = inLockOrder(placements);
    const { together, runners } = this.parts;
    await together.place(runners.together, sorted.placements, (position, placed) =>
      answer(sorted.indexes[position] as number, placed),
    );
  }
}

/** Not at once: a long line would leave one within the other. */
function giveUp(pending: Pick<PendingCall<unknown, Placed>, 'reject'>): void {
  const error = new DelayUnavailableError(
    `earlier calls about the same key took longer than ${IN_LINE_MS_MAX} ms`,
  );
  queueMicrotask(() => pending.reject(error));
}
