import { Logger } from '@nestjs/common';
import { framesOf, printable } from './printable.js';

/**
 * The one way of the library into Nest's logger: whatever a key, a name or an error says, each call is one line, and the
 * frames of a stack below it.
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

  /** @param cause its frames are told, too */
  warn(line: string, cause?: unknown): void {
    this.#logger.warn(`${printable(line)}${framesOf(cause)}`);
  }

  /** @param cause its frames are told, too */
  error(line: string, cause?: unknown): void {
    this.#logger.error(`${printable(line)}${framesOf(cause)}`);
  }
}
