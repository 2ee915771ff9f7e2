import type { DelayEvents } from '../delay/delay.events.js';

/** Once is a restart: the old process said a last word after the new one's first. */
const FOREIGN_BEATS_MIN = 2;

/**
 * Notices that another living process has this node's name: its heartbeats keep coming between this
 * one's. Both would look after the same delays, and each would be taken for the other.
 */
export class NameWatch {
  #hasBeaten = false;
  #foreignBeats = 0;

  constructor(
    private readonly nodeName: string,
    private readonly instance: string,
    private readonly events: DelayEvents,
  ) {}

  /** @param last the instance of the last heartbeat under this name, before the present one */
  beat(last: string | null): void {
    // Before the first one it was a process that ended, by whatever means.
    const isForeign = this.#hasBeaten && last !== null && last !== this.instance;
    this.#hasBeaten = true;
    if (!isForeign) return;
    this.#foreignBeats += 1;
    if (this.#foreignBeats !== FOREIGN_BEATS_MIN) return;
    this.events.emit('advice', {
      message:
        `another process is named ${this.nodeName} as well; names must be unique per process: ` +
        'leave the option nodeName out, or put something into it that differs, such as the pod and the pid',
    });
  }
}
