import { explain } from '../terminal/explain.js';
import { whenNpmEnds } from './npm.js';

/** `npm start` turns one Ctrl+C into two signals at once: the terminal's and its own. */
const SECOND_SIGNAL_AFTER_MS = 500;

/** Everything that was opened, closed in reverse order. */
export class Lifetime {
  readonly #opened: (() => Promise<void>)[] = [];

  opened(close: () => Promise<void>): void {
    this.#opened.push(close);
  }

  /**
   * Starts, and stops on the first Ctrl+C or SIGTERM, or when npm ends. A second signal ends the
   * process at once. Not Nest's `enableShutdownHooks()`: that ends the process by the signal as
   * soon as the application is closed, before the database is, and with the exit code of a killed
   * process.
   */
  async live(start: () => Promise<void>): Promise<void> {
    const starting = start();
    this.#stopOnSignal(starting);
    await starting.catch((error: unknown) => this.fail(error));
  }

  async fail(error: unknown): Promise<never> {
    process.stderr.write(`${explain(error)}\n`);
    try {
      await this.#closeAll();
    } finally {
      process.exit(1);
    }
  }

  #stopOnSignal(starting: Promise<void>): void {
    let firstAtMs: number | undefined;
    const stop = async (): Promise<void> => {
      const nowMs = performance.now();
      if (firstAtMs !== undefined) {
        if (nowMs - firstAtMs > SECOND_SIGNAL_AFTER_MS) process.exit(130);
        return;
      }
      firstAtMs = nowMs;
      await starting.catch(() => undefined);
      await this.#closeAll();
      process.exit(0);
    };
    const stopOrFail = (): void => void stop().catch((error: unknown) => this.fail(error));
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stopOrFail);
    whenNpmEnds(() => {
      if (firstAtMs === undefined) stopOrFail();
    });
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#opened.splice(0).toReversed()) {
      await close().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}
