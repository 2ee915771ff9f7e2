import type { HandlerLimits, Limit } from '../../handlers/limits.js';
import { groupText } from '../../store/wire/wakes.js';
import type { Entry } from '../../intake/entry.js';
import type { Admit } from '../../intake/line.js';
import type { ClaimAhead } from './claim-ahead.js';
import type { BatchPace } from './batch-pace.js';
import type { ClaimSizes } from './claim-sizes.js';
import type { ConcurrencyLimits } from './concurrency-limits.js';
import type { LimitBlocks } from './limit-blocks.js';

interface Parts {
  limits: ConcurrencyLimits;
  blocks: LimitBlocks;
  pace: BatchPace;
  ahead: ClaimAhead;
  sizes: ClaimSizes;
  /** What is due, the one that asks to be admitted included. */
  intake: { waiting(name: string): number; hasStalled(name: string): boolean };
}

/** Why an entry is not admitted; undefined: no limit is against it. */
type Held = Exclude<ReturnType<Admit>, 'yes'> | undefined;

const mostOf = ({ concurrency, burst }: Limit): number =>
  Math.min(concurrency || Infinity, burst || Infinity);

/** How many a claim asks for of each name and group that has limits. */
class Asked {
  readonly #counts = new Map<string, number>();

  of(name: string, group: string | null = null): number {
    return this.#counts.get(groupText(name, group)) ?? 0;
  }

  add({ name, group }: Entry): void {
    this.#counts.set(groupText(name, null), this.of(name) + 1);
    if (group !== null) this.#counts.set(groupText(name, group), this.of(name, group) + 1);
  }
}

/** Entries of one call. */
interface Asking {
  entries: [Entry, ...Entry[]];
  /** Else it is claimed ahead of one. */
  hasPlace: boolean;
}

/** Puts together what one claim asks for: which entries travel in which call, one place per call. */
export class NextClaim {
  readonly calls: Asking[] = [];
  /** How many more of a name may be claimed ahead of their places. */
  readonly #room = new Map<string, number>();
  /** How long the first of those has to wait that were refused for their pace; Infinity: none was. */
  pauseLeftMs = Infinity;
  /** Of which kind of names the first one was. */
  #isLimited: boolean | undefined;
  readonly #asked = new Asked();
  /** Entries that it has taken in, and how many it may, as far as these say. */
  #taken = 0;
  #most = Infinity;
  /** It asks for this name alone. */
  #apart: string | undefined;
  /** Calls of batch handlers that have room, by name. */
  readonly #open = new Map<string, Entry[]>();

  /** @param nowMs `performance.now()` */
  constructor(
    private readonly parts: Parts,
    private readonly nowMs: number,
  ) {}

  /** Takes an entry in, if its name has a batch with room, or a place that it is worth. */
  admit(entry: Entry): ReturnType<Admit> {
    const rules = this.parts.limits.acrossNodes(entry.name);
    // Names with limits are claimed by a statement of their own: a claim is of these, or of the others.
    if (this.#isLimited !== undefined && this.#isLimited !== (rules !== null)) return 'no';
    if (!this.#fits(entry)) return 'no';
    const held = rules === null ? undefined : this.#heldBy(entry, rules);
    if (held !== undefined) return held;
    if (!this.#hasPlace(entry)) return 'no';
    this.#isLimited = rules !== null;
    this.#take(entry);
    if (rules !== null) this.#asked.add(entry);
    return 'yes';
  }

  /** Whether one claim may ask for it and for what it asks for already. */
  #fits(entry: Entry): boolean {
    const { sizes } = this.parts;
    const isApart = sizes.isApart(entry);
    if (this.#taken === 0) return !isApart || sizes.mayClaimApart;
    if (this.#apart === undefined ? isApart : this.#apart !== entry.name) return false;
    return this.#taken < Math.min(this.#most, sizes.mostWith(entry));
  }

  #take(entry: Entry): void {
    const { sizes } = this.parts;
    if (this.#taken === 0 && sizes.isApart(entry)) this.#apart = entry.name;
    this.#taken += 1;
    this.#most = Math.min(this.#most, sizes.mostWith(entry));
  }

  /** No more are asked for than can be had. */
  #heldBy({ name, group }: Entry, { all, perGroup }: HandlerLimits): Held {
    const held = this.parts.blocks.heldBy(name, group);
    if (held !== undefined) return held === 'name' ? 'no' : 'its group waits';
    if (this.#asked.of(name) >= mostOf(all)) return 'no';
    const isFull = group !== null && this.#asked.of(name, group) >= mostOf(perGroup);
    return isFull ? 'not its group' : undefined;
  }

  #hasPlace(entry: Entry): boolean {
    const { limits, pace, ahead } = this.parts;
    const shares = pace.shares(entry);
    const open = shares ? this.#open.get(entry.name) : undefined;
    if (open !== undefined) {
      open.push(entry);
      if (open.length === pace.batchOf(entry.name)) this.#open.delete(entry.name);
      return true;
    }
    if (shares && !this.#isWorthACall(entry.name)) return false;
    if (!this.#room.has(entry.name) && ahead.isTurnOfOthers(entry.name)) return false;
    const isTurnOfWaiting = ahead.isTurnOfWaiting(entry.name) && ahead.mayWait(entry);
    const hasPlace = !isTurnOfWaiting && limits.acquire(entry.name);
    if (!hasPlace && !this.#mayWait(entry)) return false;
    const entries: Asking['entries'] = [entry];
    this.calls.push({ entries, hasPlace });
    pace.began(entry, this.nowMs);
    if (shares) this.#open.set(entry.name, entries);
    return true;
  }

  #mayWait(entry: Entry): boolean {
    const { ahead, intake } = this.parts;
    // Who waits would have the places for which stalled ones take turns.
    if (!ahead.mayWait(entry) || intake.hasStalled(entry.name)) return false;
    const room = this.#room.get(entry.name) ?? ahead.roomFor(entry.name);
    this.#room.set(entry.name, room - 1);
    if (room <= 0) return false;
    ahead.ask(entry.name);
    return true;
  }

  #isWorthACall(name: string): boolean {
    const { pace, intake } = this.parts;
    const leftMs = pace.pauseLeftMs(name, this.nowMs);
    if (leftMs === 0 || intake.waiting(name) >= pace.batchOf(name)) return true;
    this.pauseLeftMs = Math.min(this.pauseLeftMs, leftMs);
    return false;
  }
}
