import { DelayEvents } from '../delay/delay.events.js';
import type { HandlerRegistry } from '../handlers/handler.registry.js';
import type { Handler } from '../handlers/handler.js';
import { occurrenceOf } from '../recurrence/occurrence.js';
import type { Acknowledger } from '../settlement/acknowledger.js';
import type { DyingClaim } from '../settlement/held-claim.js';
import type { InFlight } from '../settlement/in-flight.js';
import type { WheelService } from '../wheel/wheel.service.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { DyingRow, LookedRow } from '../store/wire/attempt-rows.js';
import { lockedPauseMs, rest, retryPauseMs } from '../tasks/growing-pause.js';
import { Moment } from '../tasks/moment.js';
import { Trouble } from '../tasks/trouble.js';
import { within } from '../tasks/within.js';
import { Attempt } from './call/attempt.js';
import { Call } from './call/call.js';
import { extrasOf } from './call/extras.js';
import { DeathReports, type MortalHandler } from './death-reports.js';
import type { ConcurrencyLimits } from './places/concurrency-limits.js';
import { Executor } from './executor.js';
import type { FencedParts } from './transaction/fenced-transaction.js';

/** Delays without an attempt left that wait here; of what is beyond, a sweep tells again. */
const WAITING_MAX = 1_000;

/** A delay whose `@OnDeadDelay` is to be called. */
interface Dying {
  id: number;
  epoch: number;
  handler: MortalHandler;
  /** Of the attempt that ended just now; undefined when its process died, or the method is called again. */
  held: DyingClaim | undefined;
  /** To be told once, when it is claimed or need not be. */
  over: DyingClaim['over'];
  /** Times that its row was not to be had. */
  tries: number;
}

interface DyingParts {
  wheel: WheelService;
  fenced: FencedParts;
  store: AttemptStore;
  registry: HandlerRegistry;
  acknowledger: Acknowledger;
  inFlight: InFlight;
  places: ConcurrencyLimits;
  events: DelayEvents;
}

/**
 * Calls the methods with `@OnDeadDelay`, each in a transaction that ends with the delay as a dead letter: as an attempt
 * that is none, so that it has a lease, a timeout and a fence as any. One after the other: the pool has a
 * connection for that (`handlersShareOf`).
 */
export class DyingDelays {
  readonly #waiting = new Map<number, Dying>();
  readonly #idle = new Moment();
  readonly #trouble: Trouble;
  #isBusy = false;
  /** Takes over no more rows; what ends here is still brought to its end. */
  #isShut = false;
  #isClosed = false;

  readonly #reports: DeathReports;
  readonly #executor: Executor;

  constructor(private readonly parts: DyingParts) {
    const { store, acknowledger, events, inFlight, places, wheel, fenced } = parts;
    const reports = new DeathReports(store, acknowledger, events);
    const ending = {
      ...fenced,
      store: {
        fence: store.fence.bind(store),
        recur: store.recur.bind(store),
        complete: (...how: Parameters<typeof reports.deadLetter>) => reports.deadLetter(...how),
      },
    };
    this.#executor = new Executor(wheel, ending, reports, inFlight, places, withoutStarts(events));
    this.#reports = reports;
    this.#trouble = new Trouble(events, 'bury');
    acknowledger.dying.told.on((held) => {
      const { id, epoch } = held.claim;
      const handler = held.claim.handler as MortalHandler;
      this.#add({ id, epoch, handler, held, over: held.over, tries: 0 });
    });
  }

  /** Takes over a row that has no attempt left, if its name has a method for that. */
  takes({ id, epoch, name }: LookedRow): boolean {
    const handler = this.parts.registry.get(name);
    if (!isMortal(handler)) return false;
    const isRoom = this.#waiting.size < WAITING_MAX && !this.#isShut;
    if (isRoom && !this.#waiting.has(id)) {
      const over = this.parts.acknowledger.dying.enter();
      this.#add({ id, epoch, handler, held: undefined, over, tries: 0 });
    }
    return true;
  }

  /** The node is ending: rows of processes that died are left to others. */
  shut(): void {
    this.#isShut = true;
    for (const [id, { held, over }] of this.#waiting) {
      if (held !== undefined) continue;
      this.#waiting.delete(id);
      over('gone');
    }
  }

  /** Resolves when all is done that waits, or after `withinMs`; what is left then is put off. */
  async drain(withinMs: number): Promise<void> {
    if (this.#isBusy || this.#waiting.size > 0) await within(this.#idle.next, withinMs);
    this.#isClosed = true;
    for (const dying of this.#waiting.values()) this.#putOff(dying);
    this.#waiting.clear();
  }

  close(): void {
    this.#executor.close();
  }

  #add(dying: Dying): void {
    if (this.#isClosed) return this.#putOff(dying);
    // Of an earlier epoch: the row has moved on since.
    this.#waiting.get(dying.id)?.over('gone');
    this.#waiting.set(dying.id, dying);
    this.#next();
  }

  #next(): void {
    if (this.#isBusy || this.#isClosed) return;
    const [dying] = this.#waiting.values();
    if (dying === undefined) return this.#idle.happens();
    this.#waiting.delete(dying.id);
    this.#isBusy = true;
    void this.#claim(dying);
  }

  #free(): void {
    this.#isBusy = false;
    this.#next();
  }

  async #claim(dying: Dying): Promise<void> {
    const { id, epoch, handler, held, over } = dying;
    const leaseMs = Math.max(handler.leaseMs, handler.timeoutMs);
    const request = { id, epoch, leaseMs, maxAttempts: handler.maxAttempts };
    const askedAtMs = performance.now();
    let row: DyingRow | undefined;
    let isOurs = false;
    try {
      row = await this.parts.store.claimDying(request, held !== undefined);
      isOurs = row === undefined && held !== undefined && (await this.#isOurs(dying));
      this.#trouble.worked();
    } catch (error) {
      this.#trouble.failed(error);
      return this.#again(dying, retryPauseMs(dying.tries + 1));
    }
    if (row !== undefined) {
      this.#run(row, { ...handler, leaseMs }, held, askedAtMs + leaseMs);
      over('claimed');
    } else if (isOurs) {
      // The transaction of the last attempt may hold it until its session has ended.
      this.#again(dying, lockedPauseMs(dying.tries + 1));
    } else {
      over('gone');
      this.#free();
    }
  }

  #run(
    row: DyingRow,
    handler: MortalHandler,
    held: DyingClaim | undefined,
    leaseEndsAtMs: number,
  ): void {
    const dead = this.#reports.handlerOf(row, handler, held);
    const { repeat } = extrasOf(row.extras);
    const occurrence = occurrenceOf(repeat, row.due_ms, {
      readMs: row.now_ms,
      leastMs: () => row.now_ms,
    });
    const attempt = new Attempt(row, dead, leaseEndsAtMs, row.now_ms - row.due_ms, occurrence);
    attempt.ends = { state: 'discarded', error: dead.death.error };
    this.#executor.run(new LastCall(dead, [attempt], { release: () => this.#free() }));
  }

  /** Locked for a moment, and still leased under the epoch of its last attempt. */
  async #isOurs({ id, epoch }: Dying): Promise<boolean> {
    const { store } = this.parts;
    const [row] = await store.lookAt([id]);
    return row?.epoch === epoch && row.leased_by === store.nodeName;
  }

  /** Others come first. What is not held comes again by itself. */
  #again(dying: Dying, waitMs: number): void {
    this.#free();
    if (dying.held === undefined) return dying.over('gone');
    const later = { ...dying, tries: dying.tries + 1 };
    void rest(waitMs).then(() => this.#add(later));
  }

  /** As after a failed attempt: a delay without another one is found by the next node that claims it. */
  #putOff({ held, over }: Dying): void {
    if (held === undefined) return over('gone');
    this.parts.acknowledger.putOff(held.claim, { waitMs: 0, error: held.error }, (result) =>
      over(result === 'written' ? 'claimed' : 'gone'),
    );
  }
}

const isMortal = (handler: Handler | undefined): handler is MortalHandler =>
  handler?.onDead !== undefined;

/** Ends an attempt that ran here, or would wait for the next one: a node that is ending calls it all the same. */
class LastCall extends Call {
  override close(): void {
    this.tellToGiveUp();
  }
}

/** What an executor tells, but that a handler was called: no attempt begins here. */
function withoutStarts(events: DelayEvents): DelayEvents {
  const relay = new DelayEvents();
  relay.on('lingering', (of) => void events.emit('lingering', of));
  relay.on('trouble', (of) => void events.emit('trouble', of));
  relay.on('recovered', (of) => void events.emit('recovered', of));
  return relay;
}
