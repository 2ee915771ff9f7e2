import { DiscardDelay } from 'nestjs-delay-queue';
import type { CampaignMessage } from '../campaigns/campaign-message.js';
import type { OrderMessage } from './outbox.js';

/** To the buyer of an order, or to a recipient of a campaign. */
export type Message = OrderMessage | CampaignMessage;

/** Whatever brings messages to buyers. Which one the shop has, its configuration says. */
export abstract class MessageProvider {
  /**
   * Hands messages over. An attempt without an answer is repeated, so a provider looks at
   * the `id` and delivers each once. With one that does not, a recipient in an attempt that crashed
   * after sending and before that was written down gets the message again.
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

/** Of a shop that was told of none: its messages wait as dead letters until it is. */
export class NoMessages extends MessageProvider {
  override send(messages: readonly Message[]): Promise<ReadonlyMap<string, Error>> {
    const why = new DiscardDelay('no provider sends messages: set MESSAGES_URL, and ask again');
    return Promise.resolve(new Map(messages.map(({ id }) => [id, why])));
  }
}
