import { type LoggerService, type LogLevel } from '@nestjs/common';

/** Keeps what is logged, instead of printing it. */
export class RecordingLogger implements LoggerService {
  readonly #lines: [level: LogLevel, line: string][] = [];

  readonly debug = this.#keep('debug');
  readonly log = this.#keep('log');
  readonly warn = this.#keep('warn');
  readonly error = this.#keep('error');
  readonly fatal = this.#keep('fatal');

  /** In their order; without levels, those of all levels. */
  lines(...levels: LogLevel[]): string[] {
    return this.#lines.flatMap(([level, line]) =>
      levels.length === 0 || levels.includes(level) ? [line] : [],
    );
  }

  #keep(level: LogLevel): (line: unknown) => void {
    return (line) => void this.#lines.push([level, String(line)]);
  }
}
