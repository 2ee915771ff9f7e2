import { type DelayEvents, describeError } from '../core/index.js';

/** A clock that jumped is a reason to look for so long. */
const JUMP_TOLD_MS = 300_000;

/** A failure that has not come again for so long is over, though nothing reported that it works. */
const FAILURE_TOLD_MS = 60_000;

interface TaskFailure {
  task: string;
  sinceMs: number;
  lastMs: number;
  error: string;
}

/** What this node has noticed lately, on the monotonic clock. */
export class Noticed {
  readonly #failures = new Map<string, TaskFailure>();
  /** What differs, in words, by time zone. */
  readonly zones = new Map<string, string>();
  #jump: { byMs: number; atMs: number } | undefined;

  constructor(events: DelayEvents) {
    events.on('taskFailed', ({ task, error }) => {
      const nowMs = performance.now();
      const sinceMs = this.#recent(task)?.sinceMs ?? nowMs;
      this.#failures.set(task, { task, sinceMs, lastMs: nowMs, error: describeError(error) });
    });
    events.on('taskRecovered', ({ task }) => void this.#failures.delete(task));
    events.on('advice', ({ message, zone }) => {
      if (zone !== undefined) this.zones.set(zone, message);
    });
    events.on('clockJumped', ({ byMs }) => {
      this.#jump = { byMs, atMs: performance.now() };
    });
  }

  /** The background tasks that fail. */
  failures(): (Omit<TaskFailure, 'sinceMs' | 'lastMs'> & { forMs: number })[] {
    const nowMs = performance.now();
    return [...this.#failures.keys()]
      .map((task) => this.#recent(task))
      .filter((failure) => failure !== undefined)
      .map(({ task, sinceMs, error }) => ({ task, error, forMs: nowMs - sinceMs }));
  }

  get jump(): { byMs: number; agoMs: number } | undefined {
    if (this.#jump === undefined) return undefined;
    const agoMs = performance.now() - this.#jump.atMs;
    return agoMs < JUMP_TOLD_MS ? { byMs: this.#jump.byMs, agoMs } : undefined;
  }

  #recent(task: string): TaskFailure | undefined {
    const failure = this.#failures.get(task);
    const isOver = failure !== undefined && performance.now() - failure.lastMs > FAILURE_TOLD_MS;
    return isOver ? undefined : failure;
  }
}
