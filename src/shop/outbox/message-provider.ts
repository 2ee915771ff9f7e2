import { DiscardDelay } from 'nestjs-delay-queue';
import type { CampaignMessage } from '../campaigns/campaign-message.js';
import type { OrderMessage } from './outbox.js';

/** To the buyer of an order, or to a recipient of a campaign. */
export type Message = OrderMessage | CampaignMessage;

/** Delivers messages to buyers. The configuration chooses the provider. */
export abstract class MessageProvider {
  /**
   * Hands messages over. An attempt without an answer is repeated, so a provider has to deliver
   * each `id` once. Otherwise, after a crash between sending and recording, recipients get the
   * message again.
   *
   * @param signal aborts when this attempt is over
   * @returns by id, why a message was not accepted: a `DiscardDelay` if it never will be, anything
   * else if it should be tried again. Other ids were accepted.
   */
  abstract send(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Error>>;
}

/** Without a configured provider: messages wait as dead letters until there is one. */
export class NoMessages extends MessageProvider {
  override send(messages: readonly Message[]): Promise<ReadonlyMap<string, Error>> {
    const why = new DiscardDelay('no message provider is configured: set MESSAGES_URL and retry');
    return Promise.resolve(new Map(messages.map(({ id }) => [id, why])));
  }
}
