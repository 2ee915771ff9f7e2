import type { Delay, DelayContext } from 'nestjs-delay-queue';
import { signal } from '../../support/delay-node.js';

/** Writes down what handlers see, and what must never be. */
export class Journal {
  /** The client that all handlers use. */
  isClientClosed = false;
  /** Providers that have not bootstrapped yet. */
  toBootstrap = 0;
  isClosing = false;
  begun = 0;
  readonly faults: string[] = [];
  /** Attempts that failed before the application began to close, by id. */
  readonly failedBefore = new Map<string, number>();
  readonly #running = new Set<DelayContext>();
  readonly #waiting: { calls: number; reached: () => void }[] = [];

  /** Resolves when so many calls have begun. */
  async whenBegun(calls: number): Promise<void> {
    const { promise, resolve } = signal();
    this.#waiting.push({ calls, reached: resolve });
    this.#look();
    await promise;
  }

  /** Some of the application's providers hears that it closes. */
  hook(what: string): void {
    if (!this.isClosing) this.faults.push(`${what} ran before the application closed`);
    for (const { signal: of } of this.#running) {
      if (!of.aborted) this.faults.push(`a handler was told nothing before ${what}`);
    }
  }

  /** One call of a handler. */
  async call(delays: Delay[], ctx: DelayContext, work: () => Promise<void>): Promise<void> {
    this.begun += 1;
    if (this.toBootstrap > 0) this.faults.push('a call began before all had bootstrapped');
    if (this.isClosing) this.faults.push('a call began after the application began to close');
    this.#running.add(ctx);
    this.#look();
    const fail = (): void => {
      if (this.isClosing) return;
      for (const { id } of delays) {
        this.failedBefore.set(id, (this.failedBefore.get(id) ?? 0) + 1);
      }
    };
    ctx.signal.addEventListener('abort', fail, { once: true });
    try {
      await work();
    } catch (error) {
      fail();
      throw error;
    } finally {
      ctx.signal.removeEventListener('abort', fail);
      this.#running.delete(ctx);
    }
  }

  useClient(): void {
    if (this.isClientClosed) throw new Error('the client is closed');
  }

  #look(): void {
    for (const { calls, reached } of this.#waiting) if (this.begun >= calls) reached();
  }
}
