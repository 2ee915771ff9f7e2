import type { Webhook } from '../webhook.js';
import { MessageProvider, type Message } from './message-provider.js';

/** Posts each message as JSON to one URL, with its id in `Idempotency-Key`. */
export class WebhookMessages extends MessageProvider {
  constructor(private readonly webhook: Webhook) {
    super();
  }

  override async send(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Error>> {
    const posted = await Promise.all(
      messages.map(
        async (message) =>
          [message.id, await this.webhook.post(message.id, message, signal)] as const,
      ),
    );
    return new Map(posted.filter((entry): entry is readonly [string, Error] => entry[1] !== null));
  }
}
