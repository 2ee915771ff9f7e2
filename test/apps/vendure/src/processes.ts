import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

type Part = 'server' | 'set-up' | 'worker';

/** The processes of the shop; none outlives the trial. */
export class Processes {
  readonly #running = new Set<ChildProcess>();

  constructor(private readonly env: Record<string, string>) {}

  /** Runs one to its end. */
  async run(part: Part): Promise<void> {
    const [code] = await once(this.#fork(part), 'exit');
    if (code !== 0) throw new Error(`${part} ended with ${code}`);
  }

  /** @returns it, once it is ready */
  async start(part: Part): Promise<ChildProcess> {
    const child = this.#fork(part);
    await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`${part} ended with ${code}`);
      }),
    ]);
    return child;
  }

  async kill(child: ChildProcess): Promise<void> {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((child) => this.kill(child)));
  }

  #fork(part: Part): ChildProcess {
    // Vendure's warnings are left out, its errors are not.
    const child = fork(join(__dirname, part), {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#running.add(child);
    child.once('exit', () => this.#running.delete(child));
    return child;
  }
}
