import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { livingProcesses } from './living-processes.js';

const ROOT = new URL('../../', import.meta.url);
const LOADER = new URL('tools/swc-loader.mjs', ROOT).href;
const RUNNER = fileURLToPath(new URL('test/support/run-in-process.mjs', ROOT));
const OUTPUT_LIMIT_CHARS = 100_000;
const DEFAULT_TIMEOUT_MS = 90_000;

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface NodeProcessOptions {
  args?: string[];
  /** Added to our own environment. */
  env?: Record<string, string>;
}

/**
 * A Node process of its own, running a TypeScript or JavaScript file of the project. The file reports
 * with `process.send({ … })` and gets orders with `process.on('message', …)`; what it prints is kept.
 *
 * ```ts
 * const node = NodeProcess.start<{ fired: string }>('test/cluster/fixtures/node.ts', { env });
 * await node.waitFor((message) => message.fired === 'order-42');
 * await node.kill('SIGKILL');
 * ```
 *
 * A test that leaves one running fails, and the process is killed (see `leak-environment.ts`).
 */
export class NodeProcess<Message extends object = Record<string, unknown>> {
  /** All that arrived so far, oldest first. */
  readonly messages: Message[] = [];
  /** Standard output and error, as they came, at most the last 100,000 characters. */
  output = '';
  readonly exited: Promise<Exit>;

  private readonly watchers = new Set<() => void>();

  /** @param file relative to the project's root. */
  static start<Message extends object = Record<string, unknown>>(
    file: string,
    options: NodeProcessOptions = {},
  ): NodeProcess<Message> {
    const child = fork(RUNNER, [fileURLToPath(new URL(file, ROOT)), ...(options.args ?? [])], {
      cwd: fileURLToPath(ROOT),
      env: { DELAY_QUEUE_INVARIANTS: 'on', ...process.env, ...options.env },
      execArgv: ['--import', LOADER],
      stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    });
    return new NodeProcess<Message>(child, file);
  }

  private constructor(
    private readonly child: ChildProcess,
    private readonly file: string,
  ) {
    livingProcesses().add(child);
    child.on('message', (message) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the file's author says what it sends
      this.messages.push(message as Message);
      this.look();
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-OUTPUT_LIMIT_CHARS);
        this.look();
      });
    }
    this.exited = new Promise((resolve, reject) => {
      child.once('error', reject);
      // `close` comes after `exit` and after the last output.
      child.once('close', (code, signal) => {
        livingProcesses().delete(child);
        resolve({ code, signal });
        this.look();
      });
    });
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error(`${this.file} did not start`);
    return this.child.pid;
  }

  get running(): boolean {
    return livingProcesses().has(this.child);
  }

  /** The first message that `matches`, arrived or to come. Fails when the process ends before. */
  waitFor(
    matches: (message: Message) => boolean,
    timeoutMs = DEFAULT_TIMEOUT_MS,
  ): Promise<Message> {
    return this.until(() => this.messages.find(matches), timeoutMs);
  }

  /** The first match of `pattern` in what the process printed, or will print. */
  waitForOutput(pattern: RegExp, timeoutMs = DEFAULT_TIMEOUT_MS): Promise<RegExpMatchArray> {
    return this.until(() => this.output.match(pattern) ?? undefined, timeoutMs);
  }

  /** Hears each message from now on. */
  onMessage(listener: (message: Message) => void): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as above
    this.child.on('message', (message) => listener(message as Message));
  }

  send(message: object): void {
    this.child.send(message);
  }

  /** Sends the signal and, for all but SIGSTOP and SIGCONT, waits for the end. */
  async kill(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit | undefined> {
    this.child.kill(signal);
    return signal === 'SIGSTOP' || signal === 'SIGCONT' ? undefined : this.exited;
  }

  private look(): void {
    for (const watcher of this.watchers) watcher();
  }

  private until<T>(find: () => T | undefined, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void): void => {
        clearTimeout(timer);
        this.watchers.delete(watcher);
        settle();
      };
      const fail = (reason: string): void => {
        const output = this.output.slice(-4_000);
        finish(() => reject(new Error(`${this.file} ${reason}. It printed:\n${output}`)));
      };
      const watcher = (): void => {
        const found = find();
        if (found !== undefined) finish(() => resolve(found));
        else if (!this.running) fail('ended before what was waited for');
      };
      const timer = setTimeout(
        () => fail(`did not do what was waited for within ${timeoutMs} ms`),
        timeoutMs,
      );
      this.watchers.add(watcher);
      watcher();
    });
  }
}
