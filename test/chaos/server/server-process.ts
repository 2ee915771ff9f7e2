import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type {
  ChaosKeeperMessage,
  ChaosKeeperOptions,
  ChaosKeeperOrder,
} from './keeper.protocol.js';

const KEEPER = fileURLToPath(new URL('./keeper.ts', import.meta.url));
const LOADER = new URL('../../../tools/swc-loader.mjs', import.meta.url).href;

interface Waiting {
  resolve(url: string): void;
  reject(error: Error): void;
}

/** The run's end of the process that owns the server (see `keeper.ts`). */
export class ServerProcess {
  /** One for each order, oldest first: the keeper answers in turn. */
  readonly #waiting: Waiting[] = [];
  #url = '';

  static async start(
    options: ChaosKeeperOptions,
    log: (line: string) => void,
  ): Promise<ServerProcess> {
    const keeper = fork(KEEPER, [JSON.stringify(options)], {
      execArgv: ['--import', LOADER],
      // A session of its own: Ctrl+C is for the run, which needs its server to the end.
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    const started = new ServerProcess(keeper, log);
    started.#url = await started.#answer();
    return started;
  }

  private constructor(
    private readonly keeper: ChildProcess,
    log: (line: string) => void,
  ) {
    keeper.on('message', (message: ChaosKeeperMessage) => {
      if ('log' in message) log(message.log);
      else if ('ready' in message) this.#waiting.shift()?.resolve(message.ready);
      else this.#waiting.shift()?.reject(new Error(message.failed));
    });
    keeper.once('exit', (code, signal) => this.#lose(`ended (${signal ?? code})`));
    keeper.once('error', (error) => this.#lose(`does not start: ${error.message}`));
    // A run that forgets `stop` can still end: the keeper sees the channel close.
    keeper.unref();
    keeper.channel?.unref();
  }

  get url(): string {
    return this.#url;
  }

  /** Crashes that are asked for at the same time come one after the other. */
  async crash(downMs: number): Promise<void> {
    const order: ChaosKeeperOrder = { crashMs: downMs };
    this.keeper.send(order);
    const url = await this.#answer();
    if (url !== this.#url) {
      throw new Error(`the server came back at another address: ${new URL(url).host}`);
    }
  }

  async stop(): Promise<void> {
    if (this.keeper.exitCode !== null || this.keeper.signalCode !== null) return;
    this.keeper.ref();
    const exited = once(this.keeper, 'exit');
    if (this.keeper.connected) this.keeper.disconnect();
    await exited;
  }

  async #answer(): Promise<string> {
    this.keeper.ref();
    this.keeper.channel?.ref();
    try {
      return await new Promise<string>((resolve, reject) => {
        this.#waiting.push({ resolve, reject });
      });
    } finally {
      if (this.#waiting.length === 0) {
        this.keeper.unref();
        this.keeper.channel?.unref();
      }
    }
  }

  #lose(how: string): void {
    for (const waiting of this.#waiting.splice(0)) {
      waiting.reject(new Error(`the process that owns the server ${how}`));
    }
  }
}
