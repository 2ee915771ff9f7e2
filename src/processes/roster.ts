import type { ProcessEvent, ProcessState } from '../shop/processes/processes.js';

const EVENTS_MAX = 10;

/** Who lives, and who has died and come back. */
export class Roster {
  readonly #states = new Map<string, ProcessState>();
  #events: ProcessEvent[] = [];

  constructor(names: readonly string[]) {
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

  /** @returns since when */
  #set(name: string, state: Pick<ProcessState, 'state' | 'pid'>): string {
    const since = new Date().toISOString();
    this.#states.set(name, { name, ...state, since });
    return since;
  }
}
