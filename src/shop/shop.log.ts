import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { printable, printableError } from 'nestjs-delay-queue';
import { shown } from './shown.js';

/**
 * Nest's log, safe against texts of customers: a name, a key or an error is always one line, and
 * stack frames are indented below it.
 */
export class ShopLog extends ConsoleLogger {
  protected override stringifyMessage(message: unknown, logLevel: LogLevel): string {
    if (message instanceof Error) return this.colorize(printableError(message), logLevel);
    if (typeof message !== 'string') return shown(super.stringifyMessage(message, logLevel));
    return this.colorize(indented(message), logLevel);
  }

  /** Nest's type says that the stack is always there. */
  protected override printStackTrace(stack: string | undefined): void {
    if (stack) super.printStackTrace(indented(stack));
  }
}

/** Only the first line begins at the margin. */
export const indented = (text: string): string =>
  text
    .split('\n')
    .map((line, at) => (at === 0 ? printable(line) : `    ${printable(line.trim())}`))
    .join('\n');
