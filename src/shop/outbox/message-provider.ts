import type { Message } from './outbox.js';

/** Whatever brings messages to buyers. Which one the shop has, its configuration says. */
export abstract class MessageProvider {
  /**
   * Hands messages over. An attempt of which nobody heard the end is repeated, so a provider looks at
   * the `id` and delivers each once.
   *
   * @param signal aborts when this attempt is over
   * @returns by id, why a message was not accepted: a `DiscardDelay` when it never will be, anything
   * else when it should be tried again. What is not in it was accepted.
   */
  abstract send(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Error>>;
}
