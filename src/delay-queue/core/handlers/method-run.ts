import { DelayInterceptorError } from '../api/errors.js';

/** The call of a method. Interceptors start it: once, and before they end. */
export class MethodRun {
  #running: Promise<void> | undefined;
  #hasEnded = false;
  #isOver = false;

  /** @param run calls the method */
  constructor(
    private readonly place: string,
    private readonly run: () => Promise<void>,
  ) {}

  /** `next.handle()` of interceptors. */
  readonly next = async (): Promise<void> => {
    if (this.#isOver) throw this.#wrong('called too late, after the end');
    if (this.#running !== undefined) {
      const cause = await this.#running.catch((error: unknown) => error);
      throw this.#wrong(
        'called a second time; it ran once, and what fails is tried again as a whole',
        cause,
      );
    }
    this.#running = this.run();
    const over = (): void => {
      this.#hasEnded = true;
    };
    this.#running.then(over, over);
    return this.#running;
  };

  /** Allows no further start and awaits a running call, so that no other attempt runs beside it. */
  async over(): Promise<void> {
    this.#isOver = true;
    await this.#running?.catch(() => {});
  }

  /** The interceptors succeeded. @throws an error that they did not wait for */
  async completed(): Promise<void> {
    const wasSeen = this.#hasEnded;
    await this.over();
    if (this.#running === undefined) {
      throw this.#wrong(
        'not called, and nothing is done without it; to skip it on purpose, throw DiscardDelay or PostponeDelay',
      );
    }
    if (!wasSeen) await this.#running;
  }

  #wrong(what: string, cause?: unknown): DelayInterceptorError {
    return new DelayInterceptorError(`interceptors of ${this.place}: the handler was ${what}`, {
      cause,
    });
  }
}
