import { isatty } from 'node:tty';
import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';

/** Who reads what the shop prints: colours only where they show. */
export class Terminal {
  readonly colors = isatty(1) && process.stdout.hasColors();

  print(line = ''): void {
    process.stdout.write(`${line}\n`);
  }

  /** For what is wrong. */
  complain(line: string): void {
    process.stderr.write(`${line}\n`);
  }

  styled(style: Style, text: string): string {
    return this.colors ? styleText(style, text) : text;
  }
}
