import type { DelayEventMap, DelayEvents } from '../delay/delay.events.js';
import type { DelayRun, RunOutcome } from './delay-run.js';
import { HeldBack } from './held-back.js';
import { DelayTestingError } from './testing.error.js';
import type { DueRow } from './travel.store.js';

const OUTCOMES = Object.keys({
  completed: true,
  superseded: true,
  retrying: true,
  dead: true,
  postponed: true,
  split: true,
  lost: true,
  released: true,
  aborted: true,
} satisfies Record<RunOutcome, true>) as RunOutcome[];

/** What one call runs, at most: a handler that schedules itself for now would never come to an end. */
const STEPS_MAX = 10_000;

type End = DelayEventMap[RunOutcome][0];

/** Writes down what runs during one call of `DelayTesting`. */
export class RunLog {
  readonly runs: DelayRun[] = [];
  readonly held = new HeldBack();
  #tries = 0;
  #ends: { outcome: RunOutcome; end: End }[] = [];

  /** @param fromMs when the call began, on the clock of the test */
  constructor(
    private readonly events: DelayEvents,
    readonly fromMs: number,
  ) {}

  /**
   * @param atMs when it is on the clock of the test
   * @param run runs these, once, and answers for how long a limit holds back what did not begin
   */
  async of(rows: readonly DueRow[], atMs: number, run: () => Promise<number>): Promise<void> {
    this.#count();
    const listeners = OUTCOMES.map((outcome) => {
      const listener = (end: End): void => void this.#ends.push({ outcome, end });
      return { outcome, listener };
    });
    for (const { outcome, listener } of listeners) this.events.on(outcome, listener);
    try {
      const heldMs = Math.ceil(await run());
      const ran = new Set(this.#ends.map(({ end }) => end.id));
      const left = rows.map(({ id }) => id).filter((id) => !ran.has(String(id)));
      if (heldMs < Infinity) this.held.add(left, atMs + heldMs);
    } finally {
      for (const { outcome, listener } of listeners) this.events.off(outcome, listener);
      this.#write(rows, atMs);
    }
  }

  /** In the order in which they were due; what was gone when its turn came has not run. */
  #write(rows: readonly DueRow[], atMs: number): void {
    const ends = this.#ends;
    this.#ends = [];
    for (const row of rows) {
      for (const { outcome, end } of ends) {
        if (end.id === String(row.id)) this.runs.push(this.#runOf(row, atMs, outcome, end));
      }
    }
  }

  #runOf({ name, key, payload }: DueRow, atMs: number, outcome: RunOutcome, end: End): DelayRun {
    return {
      id: end.id,
      name,
      key,
      payload,
      attempt: end.attempt,
      outcome,
      error: 'error' in end ? end.error : null,
      at: new Date(atMs),
      travelledMs: atMs - this.fromMs,
    } as DelayRun;
  }

  /** Also the tries in which nothing ran: they would come again and again. */
  #count(): void {
    this.#tries += 1;
    if (this.runs.length < STEPS_MAX && this.#tries <= STEPS_MAX) return;
    const names = [...new Set(this.runs.slice(-100).map(({ name }) => name))].join(', ');
    throw new DelayTestingError(
      `this call has run ${STEPS_MAX} attempts and is not through, the last ones of ${names}: does a handler ` +
        'schedule what is due at once? Else go in shorter steps',
    );
  }
}
