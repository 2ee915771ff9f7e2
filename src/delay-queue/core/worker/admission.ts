import { DelayConfigError } from '../api/errors.js';
import type { DelayEvents } from '../api/events.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import { type Allowance, type ClaimTerms, admission, claimMost } from './allowance.js';
import type { Admit } from './fair-queue.js';
import type { Job } from './job.js';
import type { WorkerContext } from './context.js';
import type { Throttles } from './limits.js';
import { type ClaimSizes, isClaimedApart } from './claim-sizes.js';
import type { NameState, NameStates } from './name-state.js';
import type { TimerQueue } from './timer-queue.js';

/** An allowance, as it is used up. */
interface Dealing extends Allowance {
  /** A call with room for further delays. */
  open?: AdmittedCall | undefined;
  /** Delays by group, of a name with limits. */
  groups?: Map<string, number>;
}

/** What one claim asks for: which delays share a call, and which calls have a slot. */
class NextClaim {
  readonly calls: AdmittedCall[] = [];
  /** When the first batch that was held back by its pace may begin; Infinity: none was. */
  pacedUntilMs = Infinity;
  /** Of which kind of names the first one was. */
  #isLimited: boolean | undefined;
  readonly #dealings = new Map<NameState, Dealing>();
  #taken = 0;
  /** Delays that it may ask for, by the claims of these that failed. */
  #most = Infinity;
  /** It asks for this name alone. */
  #apart: NameState | undefined;

  constructor(
    private readonly keeper: SlotKeeper,
    private readonly names: NameStates,
    private readonly mayClaimApart: boolean,
    private readonly terms: ClaimTerms,
  ) {}

  /** Takes a delay in, if its name has a batch with room, a slot, or room to prefetch. */
  admit(entry: Job, name: NameState): ReturnType<Admit> {
    const isLimited = name.handler.limits !== null;
    // Limited names have a statement of their own: a claim asks for those, or for the others.
    if (this.#isLimited !== undefined && this.#isLimited !== isLimited) return 'no';
    if (!this.#fits(entry, name)) return 'no';
    const dealing = this.#dealingOf(name);
    if (dealing.delays <= 0) return 'no';
    const held = isLimited ? this.#heldByGroup(entry, name, dealing) : undefined;
    if (held !== undefined) return held;
    if (!this.#deal(entry, name, dealing)) return 'no';
    this.#take(entry, name, dealing);
    return 'yes';
  }

  #dealingOf(name: NameState): Dealing {
    let dealing = this.#dealings.get(name);
    if (dealing === undefined) {
      dealing = admission(name, this.terms);
      this.#dealings.set(name, dealing);
    }
    return dealing;
  }

  /** Whether one claim may ask for it and for what it asks for already. */
  #fits(entry: Job, name: NameState): boolean {
    const isApart = isClaimedApart(entry, name);
    if (this.#taken === 0) return !isApart || this.mayClaimApart;
    if (this.#apart === undefined ? isApart : this.#apart !== name) return false;
    return this.#taken < Math.min(this.#most, entry.claimedWithin ?? Infinity);
  }

  #take(entry: Job, name: NameState, dealing: Dealing): void {
    const { group } = entry;
    dealing.delays -= 1;
    this.#isLimited = name.handler.limits !== null;
    if (this.#taken === 0 && isClaimedApart(entry, name)) this.#apart = name;
    this.#taken += 1;
    this.terms.isAsked = true;
    if (entry.claimedWithin !== undefined) this.#most = Math.min(this.#most, entry.claimedWithin);
    if (!this.#isLimited || group === null) return;
    dealing.groups ??= new Map();
    dealing.groups.set(group, (dealing.groups.get(group) ?? 0) + 1);
  }

  #heldByGroup({ group }: Job, name: NameState, { groups }: Dealing) {
    if (group === null || name.handler.limits === null) return undefined;
    if (name.throttledUntilMs(group) > this.terms.limitsNowMs) return 'group throttled';
    const isFull = (groups?.get(group) ?? 0) >= claimMost(name.handler.limits.perGroup);
    return isFull ? 'group full' : undefined;
  }

  #deal(entry: Job, name: NameState, dealing: Dealing): boolean {
    const mayShare = name.mayShare(entry);
    if (mayShare && dealing.open !== undefined) {
      const size = dealing.open.entries.push(entry);
      if (size === name.handler.batch) dealing.open = undefined;
      return true;
    }
    if (mayShare && dealing.batches <= 0) {
      if (dealing.heldBy === 'pace') {
        this.pacedUntilMs = Math.min(this.pacedUntilMs, dealing.untilMs);
      }
      return false;
    }
    const mayWait = name.mayPrefetch(entry);
    const hasSlot = this.#takeSlot(name, dealing, mayWait);
    if (!hasSlot && !(mayWait && this.#prefetch(name, dealing))) {
      // Its own calls do not hold it back: others have the connections.
      if (dealing.slots > 0 && name.prefetched === 0) name.connections?.wants(name);
      return false;
    }
    const call = new AdmittedCall([entry], name, this.keeper, hasSlot);
    this.calls.push(call);
    if (!mayShare) return true;
    dealing.batches -= 1;
    dealing.open = call;
    name.batchBegan(this.terms.nowMs);
    return true;
  }

  #takeSlot(name: NameState, dealing: Dealing, mayWait: boolean): boolean {
    if (dealing.slots <= 0 || (dealing.isQueued && mayWait)) return false;
    // Transactional handlers of all names share the connections for them.
    if (!this.names.acquire(name)) return false;
    dealing.slots -= 1;
    return true;
  }

  #prefetch(name: NameState, dealing: Dealing): boolean {
    if (dealing.prefetch <= 0) return false;
    dealing.prefetch -= 1;
    name.ask();
    return true;
  }
}

/** The delays of one call of a claim. It has a slot, or is prefetched and waits for one. */
export class AdmittedCall {
  #beganAtMs = Number.NaN;
  #isAnswered: boolean;

  constructor(
    readonly entries: [Job, ...Job[]],
    readonly name: NameState,
    private readonly keeper: SlotKeeper,
    private hasSlot: boolean,
  ) {
    this.#isAnswered = hasSlot;
  }

  /**
   * The call begins, if there is a slot for it.
   * @param isFirst none of its name waits longer: otherwise only the slot that it came with counts
   */
  takeSlot(isFirst = true): boolean {
    this.#answered();
    this.hasSlot ||= isFirst && this.keeper.take(this.name);
    if (this.hasSlot) this.#beganAtMs = performance.now();
    return this.hasSlot;
  }

  /** Once, when the call is over or does not come. */
  release(atOnce = false): void {
    this.#answered();
    if (!this.hasSlot) return this.keeper.leave(this.name);
    const tookMs = performance.now() - this.#beganAtMs;
    // NaN: it never began.
    if (tookMs >= 0) this.name.took(tookMs, atOnce);
    this.keeper.release(this.entries[0], this.name);
  }

  #answered(): void {
    if (!this.#isAnswered) this.name.answered();
    this.#isAnswered = true;
  }
}

/** What one claim asks for. */
interface Admitted {
  calls: readonly AdmittedCall[];
  /** In how long the first batch may begin that was held back by its pace; Infinity: none was. */
  pauseLeftMs: number;
}

interface SlotParts extends Pick<WorkerContext, 'claimBatch'> {
  names: NameStates;
  throttles: Throttles;
  sizes: ClaimSizes;
  queue: Pick<TimerQueue, 'take'>;
}

/** What becomes of slots. */
interface SlotPort {
  /** A call of that name has given its slot back. */
  freed(name: NameState): void;
  /** A prefetched call has left without a slot: others of its name may be claimed. */
  vacant(): void;
}

/** Gives slots to what is due, and takes them back. Stalled delays run one at a time. */
export class SlotKeeper {
  #stalledRuns = false;

  constructor(
    private readonly parts: SlotParts,
    private readonly to: SlotPort,
  ) {}

  /** Takes out of the queue what one claim asks for. @param nowMs `performance.now()` */
  admit(nowMs: number): Admitted {
    const { names, sizes, throttles, claimBatch, queue } = this.parts;
    const claim = new NextClaim(this, names, sizes.mayClaimApart, {
      nowMs,
      limitsNowMs: throttles.nowMs(),
      isLimitedInFlight: throttles.isAsking,
      claimBatch,
      isAsked: false,
    });
    const taken = queue.take((entry, name) => claim.admit(entry, name), !this.#stalledRuns);
    if (taken === 'stalled') this.#stalledRuns = true;
    return { calls: claim.calls, pauseLeftMs: claim.pacedUntilMs - nowMs };
  }

  /** For a prefetched call. */
  take(name: NameState): boolean {
    const hasSlot = this.parts.names.acquire(name);
    if (hasSlot) name.leave();
    return hasSlot;
  }

  release(first: Job, name: NameState): void {
    if (first.stalled) this.#stalledRuns = false;
    if (name.mayShare(first)) name.batchEnded();
    this.parts.names.release(name);
    this.to.freed(name);
  }

  /** Of a prefetched call that gets no slot. */
  leave(name: NameState): void {
    name.leave();
    this.to.vacant();
  }
}

/**
 * How many sessions transactional handlers may have together, one each. One more is for `@OnDeadDelay`,
 * if there is any.
 *
 * @param max of all sessions for attempts
 * @param concurrency default of handlers that set none
 * @throws DelayConfigError when there are too few for the handlers
 */
export function handlerConnections(
  max: number,
  registry: HandlerRegistry,
  concurrency: number,
  events: DelayEvents,
): number {
  const handlers = registry.all().filter((handler) => handler.transactional);
  const onDeadMax = registry.all().some(({ onDead }) => onDead !== undefined) ? 1 : 0;
  const needed = onDeadMax + (handlers.length > 0 ? 1 : 0);
  if (max < needed) {
    throw new DelayConfigError(
      `transactional handlers and @OnDeadDelay need at least ${needed} transactionalConnections, not ${max}`,
    );
  }
  const ofHandlers = max - onDeadMax;
  for (const handler of handlers) {
    if (handler.concurrency > ofHandlers && handler.concurrency !== concurrency) {
      events.emit('advice', {
        message:
          `${handler.location}: concurrency ${handler.concurrency} cannot be reached; transactional ` +
          `handlers have ${ofHandlers} connections (raise transactionalConnections)`,
      });
    }
  }
  return ofHandlers;
}
