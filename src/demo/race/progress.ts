const CLEAR_LINE = '\r\u001B[2K';
const INDENT = '         ';

/** Progress output: lines that stay, and on a terminal one line that changes. */
export class Progress {
  #isLineOpen = false;

  constructor(private readonly out: NodeJS.WriteStream) {}

  /** Prints a line that stays. */
  say(text: string): void {
    this.end();
    this.out.write(`${elapsed().padStart(7)}  ${text}\n`);
  }

  /** Replaces the changing line; prints nothing where lines cannot be replaced. */
  show(text: string): void {
    if (!this.out.isTTY) return;
    this.out.write(CLEAR_LINE + (INDENT + text).slice(0, this.out.columns - 1));
    this.#isLineOpen = true;
  }

  /** Removes the changing line. */
  end(): void {
    if (this.#isLineOpen) this.out.write(CLEAR_LINE);
    this.#isLineOpen = false;
  }
}

/** Time since this process was started. */
export const elapsed = (): string => `${(performance.now() / 1_000).toFixed(1)} s`;
