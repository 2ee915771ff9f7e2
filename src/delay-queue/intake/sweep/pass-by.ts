import type { Intake } from '../intake.js';

/** A rest is so many times as long as what it follows took... */
const REST_FACTOR = 10;

/** ...and no shorter than this. */
const REST_MS_MIN = 1_000;

/**
 * When what lies behind a crowd is fetched, past those that a pass of the sweeper waits for: at first at once, and then as seldom
 * as a pass comes, for each time may look at the whole backlog. Sooner, after a rest, where nearly all that is known waits for
 * limits of its groups and something of what was fetched has run: others would run meanwhile.
 *
 * Of a thousand tenants with a hundred overdue delays each, sixty a minute for each of them, 1,025 a second run, and 141 did.
 * `npm run bench -- tenants`.
 */
export class PassBy {
  #endedAtMs = -Infinity;
  #tookMs = 0;
  /** How often something had been taken by then. */
  #takes = 0;

  constructor(private readonly intake: Pick<Intake, 'hasRoomBehind' | 'takes'>) {}

  /** In how many milliseconds it is due. @param everyMs how seldom a pass comes */
  dueInMs(everyMs: number): number {
    const restMs = Math.max(REST_MS_MIN, this.#tookMs * REST_FACTOR);
    const isSoon = this.intake.hasRoomBehind && this.intake.takes > this.#takes;
    return this.#endedAtMs + (isSoon ? Math.min(restMs, everyMs) : everyMs) - performance.now();
  }

  async run(fetch: () => Promise<void>): Promise<void> {
    const beganAtMs = performance.now();
    await fetch();
    this.#endedAtMs = performance.now();
    this.#tookMs = this.#endedAtMs - beganAtMs;
    this.#takes = this.intake.takes;
  }
}
