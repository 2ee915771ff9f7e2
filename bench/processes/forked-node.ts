import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stopLater } from '../run/shutdown.js';

/** A node in a process of its own. It says that it is up, then answers what it is asked, one at a time. */
export class ForkedNode {
  readonly #forget: () => Promise<void>;

  /** Resolves when it is up. */
  static async start(file: URL, args: readonly (string | number)[]): Promise<ForkedNode> {
    const child = fork(fileURLToPath(file), args.map(String), {
      // A million figures travel as they are.
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const node = new ForkedNode(child);
    await node.#next();
    return node;
  }

  private constructor(private readonly child: ChildProcess) {
    this.#forget = stopLater(() => this.#kill());
  }

  /** @throws when the process ends before it answers */
  async ask<Answer>(command: string): Promise<Answer> {
    this.child.send(command);
    return (await this.#next()) as Answer;
  }

  /** As a crash does it. */
  async kill(): Promise<void> {
    await this.#forget();
  }

  async #next(): Promise<unknown> {
    const over = new AbortController();
    const { signal } = over;
    const ended = once(this.child, 'exit', { signal }).then(([code]) => {
      throw new Error(`a node ended with ${String(code)}`);
    });
    try {
      const [told] = (await Promise.race([once(this.child, 'message', { signal }), ended])) as [
        unknown,
      ];
      return told;
    } finally {
      // Nobody listens any more when it is killed.
      ended.catch(() => {});
      over.abort();
    }
  }

  async #kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}
