import type { DelayEvents } from '../api/events.js';

/** One may be a restart: the old process's last heartbeat came after the new one's first. */
const FOREIGN_BEATS_MIN = 2;

/**
 * Detects that another live process uses this node's name: its heartbeats alternate with this
 * one's. Both would own the same delays, and each would be mistaken for the other.
 */
export class NameWatch {
  #hasBeaten = false;
  #foreignBeats = 0;

  constructor(
    private readonly nodeName: string,
    private readonly instance: string,
    private readonly events: DelayEvents,
  ) {}

  /** @param last the instance of the name's previous heartbeat */
  beat(last: string | null): void {
    // Before this process's first heartbeat, it came from a process that has ended.
    const isForeign = this.#hasBeaten && last !== null && last !== this.instance;
    this.#hasBeaten = true;
    if (!isForeign) return;
    this.#foreignBeats += 1;
    if (this.#foreignBeats !== FOREIGN_BEATS_MIN) return;
    this.events.emit('advice', {
      message:
        `another process is also named ${this.nodeName}; names must be unique per process: ` +
        'omit the option nodeName, or include something unique in it, such as the pod and the pid',
    });
  }
}
