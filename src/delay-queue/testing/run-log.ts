import { type DelayEventMap, DelayEvents } from '../core/index.js';
import { type RunOutcome, type DelayRun, DelayTestingError } from './delay-run.js';
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

/** Most attempts of one call: a handler that schedules itself for now would never end. */
const STEPS_MAX = 10_000;

type EndEvent = DelayEventMap[RunOutcome][0];

/** Records what runs during one call of `DelayTesting`. */
export class RunLog {
  readonly runs: DelayRun[] = [];
  readonly held = new HeldBack();
  #tries = 0;
  #ends: { outcome: RunOutcome; end: EndEvent }[] = [];

  /** @param fromMs when the call began, on the test's clock */
  constructor(
    private readonly events: DelayEvents,
    readonly fromMs: number,
  ) {}

  /**
   * @param atMs the time on the test's clock
   * @param run runs the rows once; returns how long a limit throttles what did not begin
   */
  async of(rows: readonly DueRow[], atMs: number, run: () => Promise<number>): Promise<void> {
    this.#count();
    const listeners = OUTCOMES.map((outcome) => {
      const listener = (end: EndEvent): void => void this.#ends.push({ outcome, end });
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

  /** In the order in which they were due. A row that was gone before its turn has no run. */
  #write(rows: readonly DueRow[], atMs: number): void {
    const ends = this.#ends;
    this.#ends = [];
    for (const row of rows) {
      for (const { outcome, end } of ends) {
        if (end.id === String(row.id)) this.runs.push(this.#runOf(row, atMs, outcome, end));
      }
    }
  }

  #runOf(
    { name, key, payload }: DueRow,
    atMs: number,
    outcome: RunOutcome,
    end: EndEvent,
  ): DelayRun {
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

  /** Counts tries in which nothing ran as well, so that they cannot repeat forever. */
  #count(): void {
    this.#tries += 1;
    if (this.runs.length < STEPS_MAX && this.#tries <= STEPS_MAX) return;
    const names = [...new Set(this.runs.slice(-100).map(({ name }) => name))].join(', ');
    throw new DelayTestingError(
      `this call has run ${STEPS_MAX} attempts without an end, the last ones of ${names}: does a handler ` +
        'schedule delays that are due at once? If not, advance in shorter steps',
    );
  }
}

/** Delays that a limit throttled: their ids, and until when on the test's clock. */
export class HeldBack {
  readonly #untilMs = new Map<number, number>();

  add(ids: readonly number[], untilMs: number): void {
    for (const id of ids) this.#untilMs.set(id, untilMs);
  }

  /** Delays that are still throttled at that time. */
  at(nowMs: number): number[] {
    for (const [id, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(id);
    return [...this.#untilMs.keys()];
  }

  /** When the first of them may begin; Infinity: there is none. */
  get nextMs(): number {
    let nextMs = Infinity;
    for (const untilMs of this.#untilMs.values()) nextMs = Math.min(nextMs, untilMs);
    return nextMs;
  }
}
