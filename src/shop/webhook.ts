import { DiscardDelay } from 'nestjs-delay-queue';

/** Client errors that may pass: timeout, too early, too many. */
const MAY_PASS = [408, 425, 429];

/**
 * Posts JSON to one URL, with an id in `Idempotency-Key`. Any 2xx means accepted. A timeout, a
 * network error or a 5xx is tried again; another 4xx is not.
 */
export class Webhook {
  constructor(
    private readonly url: string,
    private readonly timeoutMs: number,
  ) {}

  /** @returns why it was not accepted, without the URL, which may hold a secret */
  async post(id: string, body: object, signal: AbortSignal): Promise<Error | null> {
    const timeout = AbortSignal.timeout(this.timeoutMs);
    try {
      const answer = await fetch(this.url, {
        method: 'POST',
        redirect: 'manual',
        headers: { 'content-type': 'application/json', 'idempotency-key': id },
        body: JSON.stringify(body),
        signal: AbortSignal.any([signal, timeout]),
      });
      await answer.body?.cancel();
      if (answer.ok) return null;
      const why = `the webhook answered ${answer.status}`;
      const isFinal = answer.status >= 400 && answer.status < 500;
      return isFinal && !MAY_PASS.includes(answer.status) ? new DiscardDelay(why) : new Error(why);
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
