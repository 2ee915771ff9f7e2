import { Injectable } from '@nestjs/common';
import { OnDelay, type Delay, type DelayBatchContext } from 'nestjs-delay-queue';
import { MessageProvider } from './message-provider.js';
import { Outbox } from './outbox.js';

@Injectable()
export class SendMessageHandler {
  constructor(
    private readonly outbox: Outbox,
    private readonly provider: MessageProvider,
  ) {}

  /**
   * Not transactional: no rollback takes back what a provider has accepted. It may run again, with
   * the same ids. A message that is refused does not hold up the others.
   */
  @OnDelay('message.send', { batch: 50, concurrency: 2 })
  async send(delays: Delay<'message.send'>[], { signal, fail }: DelayBatchContext): Promise<void> {
    const messages = await this.outbox.toSend(delays.map(({ payload }) => payload.messageId));
    const failures = await this.provider.send(messages, signal);
    await this.outbox.sent(messages.filter(({ id }) => !failures.has(id)));
    for (const delay of delays) {
      const why = failures.get(delay.payload.messageId);
      if (why) fail(delay, why);
    }
  }
}
