import type { DelayEvents } from '../delay/delay.events.js';

/** What the engine does again when it failed, as the events and the log name it. */
export type Duty =
  | 'abort'
  | 'acknowledge'
  | 'begin'
  | 'bury'
  | 'claim'
  | 'declare'
  | 'hint'
  | 'leave'
  | 'listen'
  | 'load'
  | 'look'
  | 'prune'
  | 'renew'
  | 'rerun'
  | 'sweep';

/** Tells of one duty: `trouble` each time it fails, `recovered` once when it works again. */
export class Trouble {
  #failing = false;

  constructor(
    private readonly events: DelayEvents,
    private readonly during: Duty,
  ) {}

  failed(error: unknown): void {
    this.#failing = true;
    this.events.emit('trouble', { during: this.during, error });
  }

  worked(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.events.emit('recovered', { during: this.during });
  }
}
