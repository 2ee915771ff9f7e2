import { groupText } from '../store/rows/delay-rows.js';
import { Trigger } from '../tasks/recurring-task.js';
import type { Reservation, Reservations } from './admission.js';
import { type Attempt, Call } from './call.js';
import type { Claimed, Claimer } from './claimer.js';
import type { Completer } from './completer.js';
import type { Entry } from './entry.js';
import type { Intake } from './intake.js';
import type { MissedClaims } from './missed-claims.js';
import type { WaitingCalls } from './waiting-calls.js';

/** Claims on their way at once: one runs while the next one's rows are coming due. */
const CLAIMS_MAX = 2;

/** Ended attempts that are not acknowledged yet, before no more are claimed. */
const UNACKNOWLEDGED_MAX = 10_000;

/**
 * Turns what is due into claims, and claims into calls: reserves, claims, runs. It does so once for everything
 * that happens in a turn of the event loop.
 */
export class Dispatcher {
  readonly #claims = new Set<Promise<void>>();
  readonly #turn = new Trigger(() => this.#claimAll());

  constructor(
    private readonly intake: Intake,
    private readonly reservations: Reservations,
    private readonly claimer: Claimer,
    private readonly unclaimed: MissedClaims,
    private readonly calls: WaitingCalls,
    private readonly completer: Completer,
  ) {
    const claimSoon = (): void => this.#turn.trigger();
    intake.ready.on(claimSoon);
    reservations.vacant.on(claimSoon);
    completer.wrote.on(claimSoon);
  }

  /** Claims nothing more, and ends when the claims on their way have been answered. */
  async stop(): Promise<void> {
    this.intake.shut();
    this.claimer.stop();
    this.#turn.stop();
    this.calls.stop();
    await this.whenAnswered();
  }

  get isClaiming(): boolean {
    return this.#claims.size > 0;
  }

  /** Resolves when no claim is on its way. */
  async whenAnswered(): Promise<void> {
    while (this.isClaiming) await Promise.all(this.#claims);
  }

  #claimAll(): void {
    let pauseLeftMs = Infinity;
    while (this.#mayClaim) {
      const reserved = this.reservations.reserve(performance.now());
      pauseLeftMs = Math.min(pauseLeftMs, reserved.pauseLeftMs);
      if (reserved.calls.length === 0) break;
      this.#begin(reserved.calls);
    }
    this.#turn.triggerIn(pauseLeftMs);
    this.intake.taken();
  }

  get #mayClaim(): boolean {
    return this.#claims.size < CLAIMS_MAX && this.completer.size < UNACKNOWLEDGED_MAX;
  }

  #begin(calls: readonly Reservation[]): void {
    const claim = this.#claim(calls).finally(() => {
      this.#claims.delete(claim);
      this.#turn.trigger();
    });
    this.#claims.add(claim);
  }

  async #claim(calls: readonly Reservation[]): Promise<void> {
    const claimed = await this.claimer.claim(calls.flatMap(({ entries }) => entries));
    if ('pauseMs' in claimed) {
      for (const call of calls) call.release();
      this.#turn.pauseFor(claimed.pauseMs);
      this.claimer.whenAnotherWorks(() => this.#turn.resume());
      return;
    }
    const unclaimed: Entry[] = [];
    for (const call of calls) this.#run(call, claimed, unclaimed);
    if (unclaimed.length === 0) return;
    this.intake.putBack(unclaimed.filter((entry) => isHeldBack(entry, claimed)));
    const missing = unclaimed.filter((entry) => entry.place === 'claiming');
    if (missing.length > 0) await this.unclaimed.lookAfter(missing);
  }

  /** @param unclaimed gets the entries that were not claimed */
  #run(reservation: Reservation, { rows, askedAtMs }: Claimed, unclaimed: Entry[]): void {
    const attempts: Attempt[] = [];
    for (const entry of reservation.entries) {
      const row = rows.get(entry.id);
      if (row === undefined) unclaimed.push(entry);
      else {
        this.intake.forget(entry);
        const attempt = this.claimer.attempt(row, askedAtMs);
        if (attempt !== undefined) attempts.push(attempt);
      }
    }
    const [first] = attempts;
    if (first === undefined) reservation.release();
    else this.calls.begin(new Call(first.handler, attempts, reservation), reservation);
  }
}

const isHeldBack = ({ name, group }: Entry, { full }: Claimed): boolean =>
  full.has(groupText(name, null)) || (group !== null && full.has(groupText(name, group)));
