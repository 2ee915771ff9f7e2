import type { ProcessEvent, ProcessState } from '../shop/processes/processes.js';

const EVENTS_MAX = 10;

/** Which processes are up, and which have died and come back. */
export class Roster {
  readonly #states = new Map<string, ProcessState>();
  #events: ProcessEvent[] = [];
  readonly #madeAtMs = performance.now();

  /** @param madeAt ISO 8601, on the database's clock, like the times of all later events */
  constructor(
    names: readonly string[],
    private readonly madeAt: string,
  ) {
    for (const name of names) this.#set(name, { state: 'starting', pid: null });
  }

  get list(): ProcessState[] {
    return [...this.#states.values()];
  }

  /** Newest first. */
  get events(): ProcessEvent[] {
    return this.#events;
  }

  starts(name: string, pid: number): void {
    this.#set(name, { state: 'starting', pid });
  }

  isUp(name: string, pid: number): void {
    const event = { name, what: 'started' } as const;
    this.#events = [{ at: this.#set(name, { state: 'up', pid }), ...event }, ...this.#events];
    this.#events.splice(EVENTS_MAX);
  }

  died(name: string): void {
    const event = { name, what: 'died' } as const;
    this.#events = [
      { at: this.#set(name, { state: 'dead', pid: null }), ...event },
      ...this.#events,
    ];
    this.#events.splice(EVENTS_MAX);
  }

  /** @returns since when it is in that state */
  #set(name: string, state: Pick<ProcessState, 'state' | 'pid'>): string {
    const sinceMs = Date.parse(this.madeAt) + performance.now() - this.#madeAtMs;
    const since = new Date(sinceMs).toISOString();
    this.#states.set(name, { name, ...state, since });
    return since;
  }
}
