import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { printable, printableError } from 'nestjs-delay-queue';
import { shown } from './shown.js';

/**
 * Nest's log, in which no text of a customer's acts: whatever a name, a key or an error says, it is one line, and frames of
 * stacks stand below it.
 */
export class ShopLog extends ConsoleLogger {
  protected override stringifyMessage(message: unknown, logLevel: LogLevel): string {
    if (message instanceof Error) return this.colorize(printableError(message), logLevel);
    if (typeof message !== 'string') return shown(super.stringifyMessage(message, logLevel));
    return this.colorize(indented(message), logLevel);
  }

  /** Nest says that there is always one. */
  protected override printStackTrace(stack: string | undefined): void {
    if (stack) super.printStackTrace(indented(stack));
  }
}

/** Only the first line begins where lines of the log do. */
export const indented = (text: string): string =>
  text
    .split('\n')
    .map((line, at) => (at === 0 ? printable(line) : `    ${printable(line.trim())}`))
    .join('\n');
