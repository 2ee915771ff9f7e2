import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('till.py', import.meta.url));

/** A Python process that places and pays orders: `till.py`. */
export class Till {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers = new Map<string, (answer: boolean) => void>();
  readonly #died: Promise<never>;

  constructor(python: string, url: string) {
    this.#child = spawn(python, [PROGRAM], {
      env: { ...process.env, DATABASE_URL: url },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface(this.#child.stdout).on('line', (line) => {
      const [verb, id, answer] = line.split(' ');
      this.#answers.get(`${verb} ${id}`)?.(answer === 'yes');
    });
    this.#died = once(this.#child, 'exit').then(([code]) => {
      throw new Error(`till.py ended with ${code}`);
    });
    this.#died.catch(() => {});
  }

  place = (id: number, at: Date): Promise<boolean> => this.#ask(`place ${id}`, at.toISOString());
  pay = (id: number): Promise<boolean> => this.#ask(`pay ${id}`);

  async close(): Promise<void> {
    this.#child.stdin.end();
    await this.#died.catch(() => {});
  }

  #ask(command: string, more = ''): Promise<boolean> {
    this.#child.stdin.write(`${command} ${more}\n`);
    const answered = new Promise<boolean>((answer) => this.#answers.set(command, answer));
    return Promise.race([answered, this.#died]);
  }
}
