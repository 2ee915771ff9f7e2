import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { printable, printableError } from 'nestjs-delay-queue';

/**
 * Nest's log, in which no text of a customer's acts: whatever a name, a key or an error says, it is one line, and frames of
 * stacks stand below it.
 */
export class ShopLog extends ConsoleLogger {
  protected override stringifyMessage(message: unknown, logLevel: LogLevel): string {
    if (message instanceof Error) return this.colorize(printableError(message), logLevel);
    if (typeof message !== 'string') return super.stringifyMessage(message, logLevel);
    return this.colorize(indented(message), logLevel);
  }

  protected override printStackTrace(stack: string): void {
    super.printStackTrace(indented(stack));
  }
}

/** Only the first line begins where lines of the log do. */
const indented = (text: string): string =>
  text
    .split('\n')
    .map((line, at) => (at === 0 ? printable(line) : `    ${printable(line.trim())}`))
    .join('\n');
