import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Command, Message, ProcessOrder } from './protocol.js';
import { RaceError } from './race-error.js';

const STARTS_WITHIN_MS = 60_000;
const STOPS_WITHIN_MS = 10_000;
const OUTPUT_CHARACTERS_MAX = 4_000;
const SOCKETS_MAX = 100;

/** The shop may have done it: the connection broke, or the answer did not come in time. */
export class NoAnswer extends Error {}

export interface Answer {
  status: number;
  body: unknown;
}

export class ShopProcess {
  state: 'up' | 'paused' | 'dead' = 'up';
  /** Orders that a naive process reports as closed. */
  readonly closed: string[] = [];
  /** The last part of its output. */
  output = '';

  readonly #agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX });
  #url = '';

  /** Resolves when it listens. @throws RaceError with its output */
  static async start(order: ProcessOrder): Promise<ShopProcess> {
    const child = fork(
      fileURLToPath(new URL('./process.js', import.meta.url)),
      [JSON.stringify(order)],
      { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] },
    );
    const started = new ShopProcess(child, order.name);
    await started.#listens();
    return started;
  }

  private constructor(
    private readonly child: ChildProcess,
    readonly name: string,
  ) {
    child.on('message', (message: Message) => {
      if (message.type === 'closed') this.closed.push(message.orderId);
      if (message.type === 'failed') this.#print(message.reason);
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#print(text));
    }
    child.once('exit', () => {
      this.state = 'dead';
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  async post(path: string, body: object, withinMs: number): Promise<Answer> {
    return this.#ask('POST', path, withinMs, JSON.stringify(body));
  }

  async get(path: string, withinMs = 10_000): Promise<Answer> {
    return this.#ask('GET', path, withinMs);
  }

  send(command: Command): void {
    this.child.send(command);
  }

  /** SIGSTOP: the process does not notice. */
  pause(): void {
    this.child.kill('SIGSTOP');
    this.state = 'paused';
  }

  /** A longer pause: the process is resumed even if its parent is gone. */
  async pauseFor(forMs: number): Promise<void> {
    const seconds = Math.ceil(forMs / 1_000) + 1;
    const guard = spawn('sh', ['-c', `sleep ${seconds}; kill -CONT ${this.child.pid}`], {
      detached: true,
      stdio: 'ignore',
    });
    guard.unref();
    await pause(forMs);
    guard.kill();
    this.resume();
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.child.kill('SIGCONT');
    this.state = 'up';
  }

  /** SIGKILL, also of a stopped process. */
  async kill(): Promise<void> {
    this.#agent.destroy();
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.state = 'dead';
    this.child.kill('SIGKILL');
    await exited;
  }

  /** Lets it drain and exit; kills it if it does not. */
  async stop(): Promise<void> {
    if (this.state !== 'up' || !this.child.connected) return this.kill();
    const exited = once(this.child, 'exit');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOPS_WITHIN_MS);
    this.#agent.destroy();
    this.send({ type: 'stop' });
    await exited;
    clearTimeout(timer);
  }

  async #ask(method: string, path: string, withinMs: number, body?: string): Promise<Answer> {
    try {
      const sent = request(this.#url + path, {
        method,
        agent: this.#agent,
        signal: AbortSignal.timeout(withinMs),
        ...(body !== undefined && { headers: { 'content-type': 'application/json' } }),
      });
      sent.end(body);
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return { status: response.statusCode ?? 0, body: await json(response) };
    } catch (error) {
      throw new NoAnswer(String(error), { cause: error });
    }
  }

  #print(text: string): void {
    this.output = (this.output + text).slice(-OUTPUT_CHARACTERS_MAX);
  }

  #listens(): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (): void => settle(() => reject(this.#notStarted()));
      const timer = setTimeout(fail, STARTS_WITHIN_MS);
      const onMessage = (message: Message): void => {
        if (message.type === 'failed') fail();
        if (message.type !== 'listening') return;
        this.#url = message.url;
        settle(resolve);
      };
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        this.child.off('message', onMessage).off('exit', fail);
        finish();
      };
      this.child.on('message', onMessage).once('exit', fail);
    });
  }

  #notStarted(): RaceError {
    return new RaceError(`A process of the shop did not start. It said:\n${this.output.trim()}`);
  }
}
