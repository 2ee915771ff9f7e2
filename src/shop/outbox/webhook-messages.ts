import { DiscardDelay } from 'nestjs-delay-queue';
import { MessageProvider, type Message } from './message-provider.js';

/** Client errors that may be gone the next time: timeout, too early, too many. */
const MAY_PASS = [408, 425, 429];

/**
 * Posts each message as JSON to one URL, its id in `Idempotency-Key`. Any 2xx means accepted. What
 * takes too long, fails on the way or answers 5xx is tried again; another 4xx is not.
 */
export class WebhookMessages extends MessageProvider {
  constructor(
    private readonly url: string,
    private readonly timeoutMs: number,
  ) {
    super();
  }

  override async send(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Error>> {
    const posted = await Promise.all(
      messages.map(async (message) => [message.id, await this.post(message, signal)] as const),
    );
    return new Map(posted.filter((entry): entry is readonly [string, Error] => entry[1] !== null));
  }

  /** @returns why it was not accepted, without the URL, which may hold a secret */
  private async post(message: Message, signal: AbortSignal): Promise<Error | null> {
    const timeout = AbortSignal.timeout(this.timeoutMs);
    try {
      const { status, ok, body } = await fetch(this.url, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/json', 'idempotency-key': message.id },
        body: JSON.stringify(message),
        signal: AbortSignal.any([signal, timeout]),
      });
      await body?.cancel();
      if (ok) return null;
      const why = `the webhook answered ${status}`;
      const isFinal = status >= 400 && status < 500 && !MAY_PASS.includes(status);
      return isFinal ? new DiscardDelay(why) : new Error(why);
    } catch {
      if (signal.aborted) return new Error('the attempt was over before the webhook answered');
      return new Error(
        timeout.aborted
          ? `the webhook did not answer within ${this.timeoutMs} ms`
          : 'the webhook could not be reached',
      );
    }
  }
}
