import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stopLater } from '../run/shutdown.js';

/** A node in a process of its own. It says that it is up, then answers what it is asked, one at a time. */
export class ForkedNode {
  /** As a crash does it. */
  readonly kill: () => Promise<void>;

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
    this.kill = stopLater(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    });
  }

  /** @throws when the process ends before it answers */
  async ask<Answer>(command: string): Promise<Answer> {
    this.child.send(command);
    return (await this.#next()) as Answer;
  }

  #next(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const onExit = (code: number | null): void =>
        reject(new Error(`a node ended with ${String(code)}`));
      this.child.once('exit', onExit).once('message', (told) => {
        this.child.off('exit', onExit);
        resolve(told);
      });
    });
  }
}
