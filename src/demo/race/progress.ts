const CLEAR_LINE = '\r\u001B[2K';
const INDENT = '         ';

/** What happens while it runs: lines that stay, and on a terminal one that changes. */
export class Progress {
  #isLineOpen = false;

  constructor(private readonly out: NodeJS.WriteStream) {}

  /** Stays. */
  say(text: string): void {
    this.end();
    this.out.write(`${elapsed().padStart(7)}  ${text}\n`);
  }

  /** Changes; nothing where lines cannot be taken back. */
  show(text: string): void {
    if (!this.out.isTTY) return;
    this.out.write(CLEAR_LINE + (INDENT + text).slice(0, this.out.columns - 1));
    this.#isLineOpen = true;
  }

  /** Leaves only what stays. */
  end(): void {
    if (this.#isLineOpen) this.out.write(CLEAR_LINE);
    this.#isLineOpen = false;
  }
}

/** Since this process was started. */
export const elapsed = (): string => `${(performance.now() / 1_000).toFixed(1)} s`;
