import { Signal } from '../../tasks/signal.js';
import type { LimitLeft } from '../../store/limits/limit.store.js';
import { groupNumber } from '../../store/wire/ownership.js';
import { groupText } from '../../store/wire/wakes.js';
import { type Deadline, Deadlines } from '../../wheel/deadlines.js';
import type { WheelService } from '../../wheel/wheel.service.js';

/**
 * When nothing was heard for so long, a claim looks whether there is a place again: its holder died, or the hint
 * was lost.
 */
const LOOK_AGAIN_MS = 2_000;

/** Of more limits it forgets the oldest: who waits for one of these asks once more, and is told again. */
const BLOCKS_MAX = 200_000;

interface Block {
  name: string;
  /** '' is the whole name. */
  group: string;
  untilMs: number;
  /** It ends when a running one does, not by its time alone. */
  isFull: boolean;
}

type KnownBlock = Block & { end?: Deadline | undefined; numbered?: string };

/** Whether a limit holds an entry back: that of its name, or that of its group alone. */
export type HeldBy = 'name' | 'group' | undefined;

/**
 * Limits that had no place left at the last claim. What they hold back stays in the ready queue, and is not asked for
 * again until a place may be free. Nothing here looks at each of them: there may be one for each of many thousand tenants.
 */
export class LimitBlocks {
  /** There may be a place. */
  readonly vacant = new Signal();
  /** That limit holds nothing back any more, as far as is known; group '' is the whole name. */
  readonly ended = new Signal<{ name: string; group: string }>();
  #isAsking = false;
  /** The oldest first. */
  readonly #blocks = new Map<string, KnownBlock>();
  readonly #ends: Deadlines;
  /** Limits of which an attempt was over while a claim was on its way, which may not have seen that. */
  readonly #freed = new Set<string>();
  /** The blocks of groups, by name and number of the group: other nodes tell of no group by its text. */
  readonly #numbered = new Map<string, Set<string>>();

  /** @param nowMs milliseconds of a clock by which rates are filled */
  constructor(
    wheel: WheelService,
    private readonly nowMs: () => number = () => performance.now(),
  ) {
    this.#ends = new Deadlines(wheel, BLOCKS_MAX + 1);
  }

  close(): void {
    this.#ends.close();
  }

  /** A claim is on its way that will tell: two at once would take what is due of a group out of its order. */
  ask(): void {
    this.#isAsking = true;
    this.#freed.clear();
  }

  /** Its answer is there, or does not come. */
  answered(): void {
    this.#isAsking = false;
  }

  /** What a claim has said of the limits that it met. */
  learn(left: readonly LimitLeft[]): void {
    const nowMs = this.nowMs();
    for (const { name, group, places, waitMs } of left) {
      const key = groupText(name, group);
      if (places > 0) this.#end(key);
      else if (waitMs > 0) this.#begin({ name, group, untilMs: nowMs + waitMs, isFull: false });
      else if (!this.#freed.has(key) && !this.#freed.has(numbered(name, group))) {
        this.#begin({ name, group, untilMs: nowMs + LOOK_AGAIN_MS, isFull: true });
      }
    }
  }

  /** Forgets what was learnt: the database's clock has jumped. */
  clear(): void {
    for (const key of this.#blocks.keys()) this.#end(key);
    this.vacant.tell();
  }

  /** An attempt of that name and group is over, here or elsewhere. */
  freed(name: string, group: string | null): void {
    this.#free(groupText(name, ''));
    if (group !== null) this.#free(groupText(name, group));
    this.vacant.tell();
  }

  /** The same of an attempt elsewhere, of whose group only the number is known. */
  freedElsewhere(name: string, number: number | null): void {
    this.#free(groupText(name, ''));
    if (number !== null) {
      const key = numberText(name, number);
      this.#seeFreed(key);
      for (const its of this.#numbered.get(key) ?? []) this.#free(its);
    }
    this.vacant.tell();
  }

  heldBy(name: string, group: string | null): HeldBy {
    if (this.#isAsking) return 'name';
    if (this.#blocks.size === 0) return undefined;
    const nowMs = this.nowMs();
    if (this.#isBlocked(groupText(name, ''), nowMs)) return 'name';
    return group !== null && this.#isBlocked(groupText(name, group), nowMs) ? 'group' : undefined;
  }

  /**
   * In how many milliseconds the first of them may be over; Infinity: there is none. It looks at each: for a node that
   * runs nothing by itself.
   */
  leftMs(): number {
    let firstMs = Infinity;
    for (const { untilMs } of this.#blocks.values()) firstMs = Math.min(firstMs, untilMs);
    return Math.max(0, firstMs - this.nowMs());
  }

  #begin(block: KnownBlock): void {
    const key = groupText(block.name, block.group);
    this.#blocks.get(key)?.end?.off();
    // Anew, so that it is the youngest.
    this.#forget(key);
    this.#blocks.set(key, block);
    this.#number(key, block);
    block.end = this.#ends.set(performance.now() + block.untilMs - this.nowMs(), () => {
      this.#end(key);
      this.vacant.tell();
    });
    if (this.#blocks.size <= BLOCKS_MAX) return;
    const [oldest] = this.#blocks.keys();
    if (oldest !== undefined) this.#end(oldest);
  }

  #end(key: string): void {
    const block = this.#blocks.get(key);
    if (block === undefined) return;
    this.#forget(key);
    block.end?.off();
    this.ended.tell(block);
  }

  /** A stranger can tell of any number of groups. */
  #seeFreed(key: string): void {
    if (this.#isAsking && this.#freed.size < BLOCKS_MAX) this.#freed.add(key);
  }

  #number(key: string, block: KnownBlock): void {
    if (block.group === '') return;
    const number = numbered(block.name, block.group);
    block.numbered = number;
    const keys = this.#numbered.get(number);
    if (keys === undefined) this.#numbered.set(number, new Set([key]));
    else keys.add(key);
  }

  #forget(key: string): void {
    const number = this.#blocks.get(key)?.numbered;
    this.#blocks.delete(key);
    if (number === undefined) return;
    const keys = this.#numbered.get(number);
    if (keys?.delete(key) === true && keys.size === 0) this.#numbered.delete(number);
  }

  #free(key: string): void {
    this.#seeFreed(key);
    if (this.#blocks.get(key)?.isFull === true) this.#end(key);
  }

  #isBlocked(key: string, nowMs: number): boolean {
    return (this.#blocks.get(key)?.untilMs ?? -Infinity) > nowMs;
  }
}

/** No name begins like that, so it stands apart from each {@link groupText}. */
const numberText = (name: string, number: number): string => `#${number} ${name}`;

const numbered = (name: string, group: string): string => numberText(name, groupNumber(group));
