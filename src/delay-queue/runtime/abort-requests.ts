import type { Notifier } from '../cluster/notifier.js';
import type { DelayEvents } from '../delay/delay.events.js';
import type { InFlight } from '../settlement/in-flight.js';
import type { AttemptStore } from '../store/attempt.store.js';
import { Trouble } from '../tasks/trouble.js';

/** Asks attempts to end, wherever they run. */
export class AbortRequests {
  readonly #trouble: Trouble;

  /** @param inFlight of this node, if it runs handlers */
  constructor(
    private readonly store: AttemptStore,
    private readonly notifier: Notifier,
    private readonly inFlight: InFlight | undefined,
    events: DelayEvents,
  ) {
    this.#trouble = new Trouble(events, 'abort');
  }

  /**
   * Asks those that hold these delays by now: never in a caller's transaction, in which the wish would be seen after its
   * COMMIT. The caller looks what came of it, and asks again.
   */
  async send(ids: readonly number[]): Promise<void> {
    try {
      const claims = await this.store.askAborts(ids);
      this.inFlight?.abort(claims);
      await this.notifier.abort(claims.filter(({ isOwn }) => !isOwn).map(({ id }) => id));
      this.#trouble.worked();
    } catch (error) {
      this.#trouble.failed(error);
    }
  }
}
