import type { AttemptStore } from '../store/attempt.store.js';
import { type Recurring, wakeOfRecurred } from '../store/rows/answers.js';
import type { Retry } from '../store/rows/attempt-rows.js';
import type { Wake } from '../store/rows/delay-rows.js';
import { Batcher, type BatcherParts } from './batcher.js';
import type { Ending, HeldClaim } from './claims.js';

export type OccurrenceEnd = Pick<Recurring, 'state' | 'error'>;

/** Only for a row that another version wrote: what this version declares is readable. */
export const UNREADABLE = 'this version cannot read how the delay recurs';

const REFUSED: Ending = {
  waitMs: null,
  movesDue: false,
  refund: 1,
  error: UNREADABLE,
  ends: 'unbegun',
};

export const COMPLETED: OccurrenceEnd = { state: 'completed', error: null };
const MISSED: OccurrenceEnd = { state: null, error: null };

/**
 * What is written for an ended occurrence. Undefined: it is none, or its next instant is unknown.
 */
export function recurringOf(
  {
    id,
    epoch,
    latenessMs,
    occurrence,
  }: Pick<HeldClaim, 'id' | 'epoch' | 'latenessMs' | 'occurrence'>,
  end: OccurrenceEnd,
): Recurring | undefined {
  if (occurrence === null) return undefined;
  let nextMs: number;
  try {
    ({ nextMs } = occurrence);
  } catch {
    return undefined;
  }
  return {
    id,
    epoch,
    dueMs: occurrence.dueMs,
    nextMs,
    ...end,
    latenessMs: end.state === 'completed' ? latenessMs : null,
    maxAttempts: null,
  };
}

/** Writes how occurrences ended, and when their delays are due next. */
export class Recurrences extends Batcher<Recurring> {
  constructor(
    store: AttemptStore,
    to: { waits(wake: Wake): void },
    private readonly retries: Batcher<Retry>,
    parts: Omit<BatcherParts<Recurring>, 'write'>,
  ) {
    const write = async (items: readonly Recurring[], reduced: number): Promise<number[]> => {
      const rows = await store.recur(items, undefined, reduced);
      for (const row of rows) to.waits(wakeOfRecurred(row));
      return rows.map(({ id }) => id);
    };
    super({ ...parts, write, reductions: 1 });
  }

  /** Too late for its handler. If the next instant is unknown, the delay becomes a dead letter. */
  skip(claim: Parameters<typeof recurringOf>[0]): void {
    const item = recurringOf(claim, MISSED);
    if (item !== undefined) {
      this.add(item, (result) => {
        if (result === 'refused') this.#refuse(claim);
      });
    } else this.#refuse(claim);
  }

  #refuse({ id, epoch }: { id: number; epoch: number }): void {
    this.retries.add({ id, epoch, ...REFUSED }, () => {});
  }
}
