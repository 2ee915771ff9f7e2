import { type DelayCompleteMessage, delayChannels, traced } from '../api/channels.js';
import { describeError } from '../api/error-text.js';
import { isLasting } from '../database/driver-errors.js';
import type { LookedRow } from '../store/sql/attempts.sql.js';
import { StatementSize } from '../store/statement-size.js';
import { Outstanding } from '../tasks/outstanding.js';
import { lockedPauseMs, rest, retryPauseMs } from '../tasks/pauses.js';
import type { TaskHealth } from '../tasks/task-health.js';

const BATCH_MAX = 500;

export interface BatcherParts<Item> {
  /** The node that holds the claims. */
  node: string;
  /**
   * Writes in one statement. Returns the ids that it wrote.
   * @param reduced how much of an item is left out: 0 nothing, one step more after each refusal
   */
  write: (items: readonly Item[], reduced: number) => Promise<readonly number[]>;
  /** How many steps an item can be reduced by; default 0. */
  reductions?: number;
  /** The committed state of the rows that were not written. */
  lookAt: (ids: readonly number[]) => Promise<readonly LookedRow[]>;
  /** Whether the write removes the row: a row that still exists was not written. */
  removes?: boolean;
  health: Pick<TaskHealth, 'failed' | 'worked' | 'pause'>;
  /** Called after each batch: there is room for more. */
  onProgress: () => void;
}

/** `gone`: the row is no longer the item's. `refused`: Postgres will accept no form of the item. */
export type BatchResult = 'written' | 'gone' | 'refused';

interface Pending<Item> {
  item: Item;
  tell: (result: BatchResult, item: Item) => void;
  reduced: number;
  timesLocked: number;
  /** A statement with it failed, and may have been committed all the same. */
  unsure: boolean;
}

/**
 * Fenced writes, many per statement. One statement is on its way at a time, and what gathers
 * meanwhile makes the next. A lone item waits for nothing; batches grow with the load. Never waits
 * for a locked row, never gives up, keeps no order.
 */
export class Batcher<Item extends { id: number; epoch: number }> {
  #waiting: Pending<Item>[] = [];
  /** Reduced items: they come first, each alone. */
  readonly #reduced: Pending<Item>[] = [];
  /** Items that are not written. */
  readonly open = new Outstanding();
  #flushing = false;
  #failures = 0;
  readonly #size = new StatementSize(BATCH_MAX);
  #closed = false;

  constructor(private readonly parts: BatcherParts<Item>) {}

  add(item: Item, tell: Pending<Item>['tell']): void {
    this.open.add();
    this.#enqueue({ item, tell, timesLocked: 0, reduced: 0, unsure: false });
  }

  /** Drops what is not written, because the connections are about to close. */
  close(): void {
    this.#closed = true;
  }

  #enqueue(pending: Pending<Item>): void {
    this.#queueOf(pending).push(pending);
    if (this.#flushing || this.#closed) return;
    this.#flushing = true;
    // Everything that ends in this turn of the event loop travels together.
    setImmediate(() => void this.#flush());
  }

  #queueOf({ reduced }: Pending<Item>): Pending<Item>[] {
    return reduced > 0 ? this.#reduced : this.#waiting;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length + this.#reduced.length > 0 && !this.#closed) {
      const batch = this.#take();
      let left = batch;
      try {
        left = await this.#write(left);
        if (left.length > 0) await this.#lookAfter(left);
        this.#failures = 0;
        this.parts.health.worked();
        this.parts.onProgress();
      } catch (error) {
        this.#failures += 1;
        this.parts.health.failed(error);
        const isRefused = isLasting(error);
        // Smaller batches next: an item that the database refuses ends up alone.
        this.#size.failed(batch.length);
        const [only, ...others] = left as [Pending<Item>, ...Pending<Item>[]];
        const isAlone = left === batch && others.length === 0;
        if (isRefused && isAlone) this.#reduce(only, error);
        // Behind the others.
        else for (const pending of left) this.#queueOf(pending).push(pending);
        if (!isRefused) await this.parts.health.pause(retryPauseMs(this.#failures));
      }
    }
    this.#flushing = false;
  }

  /** One item per row: a statement returns only ids, and a later item of the row may be waiting. */
  #take(): Pending<Item>[] {
    const reduced = this.#reduced.shift();
    if (reduced !== undefined) return [reduced];
    const taken = this.#waiting.splice(0, this.#size.now);
    const ids = new Set(taken.map((pending) => pending.item.id));
    return taken.filter((pending) => {
      const isFirst = ids.delete(pending.item.id);
      if (!isFirst) this.#waiting.push(pending);
      return isFirst;
    });
  }

  /** Notifies the written items. @returns the others */
  async #write(batch: readonly Pending<Item>[]): Promise<Pending<Item>[]> {
    let ids: readonly number[];
    const items = batch.map((pending) => pending.item);
    const [{ reduced }] = batch as readonly [Pending<Item>];
    try {
      ids = await this.#size.run(items.length, () => this.#send(items, reduced));
    } catch (error) {
      if (!isLasting(error)) for (const pending of batch) pending.unsure = true;
      throw error;
    }
    const written = new Set(ids);
    const missing: Pending<Item>[] = [];
    for (const pending of batch) {
      if (written.has(pending.item.id)) this.#tell(pending, 'written');
      else missing.push(pending);
    }
    return missing;
  }

  #send(items: readonly Item[], reduced: number): Promise<readonly number[]> {
    const { node, write } = this.parts;
    const { complete: channel } = delayChannels;
    if (!channel.hasSubscribers) return write(items, reduced);
    const message: DelayCompleteMessage = { node, count: items.length };
    const answered = (ids: readonly number[]): void => void (message.written = ids.length);
    return traced(channel, message, () => write(items, reduced), answered);
  }

  async #lookAfter(missing: readonly Pending<Item>[]): Promise<void> {
    const rows = await this.parts.lookAt(missing.map((pending) => pending.item.id));
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const pending of missing) {
      const row = byId.get(pending.item.id);
      // Epoch and owner: a claim of unknown outcome is given back under the epoch that it would
      // have, which a caller's write may have given the row, too.
      const isOurs = row?.epoch === pending.item.epoch && row.node === this.parts.node;
      if (isOurs) this.#locked(pending);
      else this.#tell(pending, this.#mayBeWritten(pending, row) ? 'written' : 'gone');
    }
  }

  /** Whether an item was written whose row is no longer its own. */
  #mayBeWritten({ unsure, item }: Pending<Item>, row: LookedRow | undefined): boolean {
    if (!unsure || row === undefined) return unsure;
    // Our write would have taken this epoch and cleared the lease: the row was claimed instead.
    const isClaimedInstead = row.epoch === item.epoch + 1 && row.node !== null;
    return this.parts.removes !== true && !isClaimedInstead;
  }

  #locked(pending: Pending<Item>): void {
    pending.timesLocked += 1;
    void rest(lockedPauseMs(pending.timesLocked)).then(() => this.#enqueue(pending));
  }

  /** Refused as it is: a reduced item is written at once, since its row is still leased. */
  #reduce(pending: Pending<Item>, error: unknown): void {
    if (pending.reduced >= (this.parts.reductions ?? 0)) {
      const message = `the outcome of #${pending.item.id} cannot be written: ${describeError(error)}`;
      this.parts.health.failed(new Error(message, { cause: error }));
      return this.#tell(pending, 'refused');
    }
    pending.reduced += 1;
    this.#reduced.push(pending);
  }

  #tell(pending: Pending<Item>, result: BatchResult): void {
    // First: what it adds is waited for as well.
    pending.tell(result, pending.item);
    this.open.done();
  }
}
