import { randomOf, type Random } from '../../src/random.js';
import type { Scenario } from './scenario.js';
import { Timeline } from './time/timeline.js';

/** What a run of one seed shares: its time, its dice, what happened, and what went wrong. */
export class World {
  readonly timeline = new Timeline();
  readonly random: Random;
  readonly #trace: string[] | undefined;
  /** The first violation: what comes after it may be its consequence. */
  violation: string | undefined;

  constructor(
    readonly scenario: Scenario,
    isTraced: boolean,
  ) {
    this.random = randomOf(scenario.seed);
    this.#trace = isTraced ? [] : undefined;
  }

  get trace(): readonly string[] {
    return this.#trace ?? [];
  }

  get isTraced(): boolean {
    return this.#trace !== undefined;
  }

  note(who: string, what: string): void {
    this.#trace?.push(`${this.timeline.nowMs.toFixed(3).padStart(10)}  ${who.padEnd(6)} ${what}`);
  }

  violate(what: string): void {
    if (this.violation === undefined) this.note('!!', what);
    this.violation ??= what;
  }
}
