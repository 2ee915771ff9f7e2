import type { Handler } from '../../handlers/handler.js';
import type { HandlerRegistry } from '../../handlers/handler.registry.js';
import type { Entry } from '../../intake/entry.js';

/** What is claimed ahead of its place begins within so long, as far as handlers of that name took so far. */
const BEGINS_WITHIN_MS = 20;

/** A longer call moves the mean by its part at once, a shorter one by a small part: better too few than too many. */
const LONGER = 1 / 4;
const SHORTER = 1 / 16;

interface Pace {
  /** How long a call of that name takes; Infinity: not known yet. */
  meanMs: number;
  /** Calls that are claimed, or being claimed, and have no place. */
  ahead: number;
  /** Of these, those whose claim is on its way. */
  asked: number;
}

/**
 * How many delays of a name may be claimed before there is a place for them. Handlers of a millisecond would else wait for
 * claims most of the time: one that is answered in five milliseconds, for ten places, makes two thousand a second.
 *
 * A handler that takes as long as that never has a call waiting, nor has one in a batch, in a transaction, or with
 * limits on all nodes together.
 */
export class ClaimAhead {
  readonly #paces = new Map<string, Pace>();

  /** @param claimBatch of one name, at most */
  constructor(
    private readonly registry: HandlerRegistry,
    private readonly claimBatch: number,
  ) {}

  /** An entry whose attempt may be its last is not risked: a process that dies spends the attempts that wait in it. */
  mayWait({ name, failed, stalled }: Entry): boolean {
    const handler = this.registry.get(name);
    return !failed && !stalled && handler !== undefined && isSimple(handler);
  }

  /**
   * How many more one claim may ask for. None while more than half of those that may wait do: claims are dear.
   */
  roomFor(name: string): number {
    const { meanMs, ahead } = this.#paceOf(name);
    if (meanMs >= BEGINS_WITHIN_MS) return 0;
    const fit = Math.floor((this.#concurrencyOf(name) * BEGINS_WITHIN_MS) / meanMs);
    const most = Math.min(this.claimBatch, fit);
    return ahead * 2 > most ? 0 : most - ahead;
  }

  /**
   * Whether a place that is free belongs to those whose claim is on its way: of two claims the second may be answered
   * first, and handlers that run one at a time do so in the order in which they are due.
   */
  isTurnOfOthers(name: string): boolean {
    return this.#paceOf(name).asked > 0 && this.#concurrencyOf(name) === 1;
  }

  /** Whether calls of that name wait, of which one runs at a time: a place that is free is for the first of them. */
  isTurnOfWaiting(name: string): boolean {
    const { ahead, asked } = this.#paceOf(name);
    return ahead > asked && this.#concurrencyOf(name) === 1;
  }

  /** One is to be claimed without a place. */
  ask(name: string): void {
    const pace = this.#paceOf(name);
    pace.ahead += 1;
    pace.asked += 1;
  }

  /** Its claim was answered. */
  answered(name: string): void {
    this.#paceOf(name).asked -= 1;
  }

  /** It has a place now, or will not get one. */
  remove(name: string): void {
    this.#paceOf(name).ahead -= 1;
  }

  /**
   * A call of that name took so long.
   * @param atOnce of handlers that return no promise one runs at a time, however many places they have
   */
  took(name: string, tookMs: number, atOnce: boolean): void {
    const pace = this.#paceOf(name);
    const ms = atOnce ? tookMs * this.#concurrencyOf(name) : tookMs;
    if (pace.meanMs === Infinity) pace.meanMs = ms;
    else pace.meanMs += (ms - pace.meanMs) * (ms > pace.meanMs ? LONGER : SHORTER);
  }

  /** Calls of that name have kept others waiting for too long: none waits until they are quick again. */
  isSlow(name: string): void {
    const pace = this.#paceOf(name);
    pace.meanMs = Math.max(pace.meanMs, BEGINS_WITHIN_MS);
  }

  #concurrencyOf(name: string): number {
    return this.registry.get(name)?.concurrency ?? 1;
  }

  #paceOf(name: string): Pace {
    let pace = this.#paces.get(name);
    if (pace === undefined)
      this.#paces.set(name, (pace = { meanMs: Infinity, ahead: 0, asked: 0 }));
    return pace;
  }
}

const isSimple = ({ transactional, batch, limits, maxAttempts }: Handler): boolean =>
  !transactional && batch === null && limits === null && maxAttempts > 1;
