import { Moment } from './moment.js';
import { Signal } from './signal.js';

/**
 * Whether this node leaves the database alone, since there is nothing to do. Recurring tasks wait meanwhile, and
 * anything that comes up ends it.
 */
export class Idle {
  readonly over = new Moment();
  /** Something came up while it was on. */
  readonly disturbed = new Signal();
  #isOn = false;
  #disturbedAtMs = performance.now();

  /** @param forMs the longest at a time; null: never */
  constructor(readonly forMs: number | null) {}

  get isOn(): boolean {
    return this.#isOn;
  }

  /** For how long nothing has come up. */
  get calmForMs(): number {
    return performance.now() - this.#disturbedAtMs;
  }

  begin(): void {
    this.#isOn = true;
  }

  end(): void {
    if (!this.#isOn) return;
    this.#isOn = false;
    this.over.happens();
  }

  /** There is something to do, or will be: the database is looked at as usual for a while. */
  disturb(): void {
    this.#disturbedAtMs = performance.now();
    if (this.#isOn) this.disturbed.tell();
  }
}
