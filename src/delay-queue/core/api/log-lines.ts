import { Logger } from '@nestjs/common';
import { printable, stackFrames } from './error-text.js';

/**
 * The only way into Nest's logger. Each call logs one line, whatever a key, name or error contains,
 * and stack frames below it.
 */
export class LogLines {
  readonly #logger: Logger;

  constructor(context: string) {
    this.#logger = new Logger(context);
  }

  debug(line: string): void {
    this.#logger.debug(printable(line));
  }

  log(line: string): void {
    this.#logger.log(printable(line));
  }

  /** @param cause its stack frames are logged, too */
  warn(line: string, cause?: unknown): void {
    this.#logger.warn(`${printable(line)}${stackFrames(cause)}`);
  }

  /** @param cause its stack frames are logged, too */
  error(line: string, cause?: unknown): void {
    this.#logger.error(`${printable(line)}${stackFrames(cause)}`);
  }
}
