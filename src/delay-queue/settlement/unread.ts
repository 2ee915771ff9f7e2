import type { AttemptStore } from '../store/attempt.store.js';
import type { Unread } from '../store/wire/attempt-rows.js';
import type { Wake } from '../store/wire/wakes.js';
import { Signal } from '../tasks/signal.js';
import { Batcher, type BatcherParts } from './batcher.js';

/** How long this node leaves to others what it could not read. What it could not read may be readable by then: a key was given. */
const LEFT_TO_OTHERS_MS = 30_000;

/** Delays that are remembered. With more of them, each waits in its row until the time is over, for all nodes. */
const REMEMBERED_MAX = 50_000;

/** Whether the write has found other nodes is known when it was answered. */
interface PassOn extends Unread {
  isPassed: boolean;
}

/** Passes on to other nodes what this one cannot read, and leaves it to them for a while. */
export class UnreadDelays {
  /** Delays that were passed on, as other nodes may take them now. */
  readonly passed = new Signal<Wake>();
  readonly batcher: Batcher<PassOn>;
  /** By id, the oldest first. */
  readonly #left = new Map<number, { epoch: number; untilMs: number }>();

  /** @param aliveMs for how long a node counts as alive of which nothing can be told */
  constructor(
    store: Pick<AttemptStore, 'passOn'>,
    aliveMs: number,
    parts: Omit<BatcherParts<PassOn>, 'write'>,
  ) {
    const write = async (items: readonly PassOn[]): Promise<number[]> => {
      const rows = await store.passOn(items, aliveMs);
      const byId = new Map(items.map((item) => [item.id, item]));
      for (const { passed, wake_ms: wakeMs, ...row } of rows) {
        const item = byId.get(row.id);
        if (item !== undefined) item.isPassed = passed;
        if (passed) this.#leave({ ...row, wakeMs, stalled: false });
      }
      return rows.map(({ id }) => id);
    };
    this.batcher = new Batcher({ ...parts, write });
  }

  /** @param tell `passed`; `refused`: no other node may read it, and the claim still holds; `gone`: it holds no more */
  passOn(
    { id, epoch }: { id: number; epoch: number },
    tell: (result: 'passed' | 'refused' | 'gone') => void,
  ): void {
    const waitMs = this.#isFull ? LEFT_TO_OTHERS_MS : null;
    // A write whose outcome is unknown, and whose row has moved on, has passed it.
    this.batcher.add({ id, epoch, waitMs, isPassed: true }, (result, { isPassed }) => {
      if (result === 'gone') tell('gone');
      else tell(isPassed ? 'passed' : 'refused');
    });
  }

  /**
   * Whether this node leaves that row to others: it is as this node left it, or has been refused by another one since.
   * Otherwise it has been written anew, and each node may try.
   */
  leaves({ id, epoch, refused }: Pick<Wake, 'id' | 'epoch' | 'refused'>): boolean {
    const left = this.#left.get(id);
    if (left === undefined || epoch < left.epoch) return false;
    const isLeft = epoch === left.epoch || refused === true;
    if (isLeft && performance.now() < left.untilMs) return true;
    this.#left.delete(id);
    return false;
  }

  /** Nodes came or went: what no node takes may be this one's again. */
  forget(): void {
    this.#left.clear();
  }

  get #isFull(): boolean {
    const nowMs = performance.now();
    for (const [id, { untilMs }] of this.#left) {
      if (untilMs > nowMs) break;
      this.#left.delete(id);
    }
    return this.#left.size >= REMEMBERED_MAX;
  }

  #leave(wake: Wake): void {
    this.#left.delete(wake.id);
    if (!this.#isFull) {
      const untilMs = performance.now() + LEFT_TO_OTHERS_MS;
      this.#left.set(wake.id, { epoch: wake.epoch, untilMs });
    }
    this.passed.tell(wake);
  }
}
