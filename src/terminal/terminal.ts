import { isatty } from 'node:tty';
import { styleText } from 'node:util';
import { shown } from '../shop/shown.js';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Prints with colors only where they show. Other control sequences are escaped. */
export class Terminal {
  readonly colors = isatty(1) && process.stdout.hasColors();

  print(line = ''): void {
    process.stdout.write(`${shown(line)}\n`);
  }

  /** For errors and warnings. */
  complain(line: string): void {
    process.stderr.write(`${shown(line)}\n`);
  }

  styled(style: Style, text: string): string {
    return this.colors ? styleText(style, text) : text;
  }
}
