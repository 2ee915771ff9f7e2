import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { adapterOf } from '../adapters/adapters.js';
import { stopLater } from '../run/shutdown.js';
import type { Call, Command, Message, WorkerReport, WorkOrder } from './protocol.js';

/** Compiling the sources and connecting; also the stop, which drains. */
const WITHIN_MS = 60_000;

type MessageOf<Type extends Message['type']> = Extract<Message, { type: Type }>;

/** One process of a measurement, as the bench sees it. */
export class BenchProcess {
  /** Delays this worker is done with, as far as it told. */
  settled = 0;
  /** What this producer can be called. */
  calls: readonly Call[] = [];
  #failure: Error | undefined;
  readonly #forget: () => Promise<void>;

  /** Resolves when it is connected and waits for `start`. */
  static async open(order: WorkOrder): Promise<BenchProcess> {
    const child = fork(
      fileURLToPath(new URL('./main.js', import.meta.url)),
      [JSON.stringify(order)],
      {
        // Bitmaps and arrays of doubles travel as they are.
        serialization: 'advanced',
        execPath: adapterOf(order.system).execPath,
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      },
    );
    const opened = new BenchProcess(child, `${order.role} of ${order.system}`);
    opened.calls = (await opened.next('ready')).calls;
    return opened;
  }

  private constructor(
    private readonly child: ChildProcess,
    private readonly title: string,
  ) {
    this.#forget = stopLater(() => this.#kill());
    child.on('message', (message: Message) => {
      if (message.type === 'progress') this.settled = message.settled;
      if (message.type === 'reopened' || message.type === 'forgotten') this.settled = 0;
      if (message.type === 'failed') this.#fail(message.reason);
    });
    child.once('error', (error) => this.#fail(error.message));
    child.once('exit', (code, signal) => this.#fail(`ended (${signal ?? `code ${code}`})`));
  }

  /** @throws when the process failed or ended meanwhile */
  check(): void {
    if (this.#failure) throw this.#failure;
  }

  send(command: Command): void {
    this.check();
    this.child.send(command);
  }

  /** Sends a command and waits for what it brings about. */
  async ask<Type extends Message['type']>(
    command: Command,
    type: Type,
    withinMs?: number,
  ): Promise<MessageOf<Type>> {
    this.check();
    const answer = this.next(type, withinMs);
    this.send(command);
    return answer;
  }

  /** The next message of that type. */
  next<Type extends Message['type']>(type: Type, withinMs = WITHIN_MS): Promise<MessageOf<Type>> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => settle(() => reject(this.#tooLate(type))), withinMs);
      const onMessage = (message: Message): void => {
        if (isOf(message, type)) settle(() => resolve(message));
        else if (message.type === 'failed') settle(() => reject(this.#failure));
      };
      const onExit = (): void => settle(() => reject(this.#failure));
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        this.child.off('message', onMessage).off('exit', onExit);
        finish();
      };
      this.child.on('message', onMessage).on('exit', onExit);
    });
  }

  /** Lets it drain and end; kills it when it does not. */
  async stop(): Promise<void> {
    if (this.#ended) return this.#forget();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), WITHIN_MS);
    const exited = once(this.child, 'exit');
    this.child.send({ type: 'stop' } satisfies Command);
    await exited;
    clearTimeout(timer);
    await this.#forget();
  }

  get #ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async #kill(): Promise<void> {
    if (this.#ended) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }

  #fail(reason: string): void {
    this.#failure ??= new Error(`the ${this.title} failed: ${reason}`);
  }

  #tooLate(type: Message['type']): Error {
    return new Error(`the ${this.title} did not say '${type}' in time`);
  }
}

const isOf = <Type extends Message['type']>(
  message: Message,
  type: Type,
): message is MessageOf<Type> => message.type === type;

const LOOK_EVERY_MS = 20;

/** Nothing new for so long: what is missing now counts as lost. */
const GIVE_UP_AFTER_MS = 30_000;

/** Time for a run that should not have been, before everything is counted. */
const AFTERMATH_MS = 300;

/** Waits until the workers together are done with `count` delays, or make no progress any more. */
export async function awaitSettled(
  workers: readonly BenchProcess[],
  count: number,
): Promise<WorkerReport[]> {
  let [settled, progressAtMs] = [0, performance.now()];
  while (settled < count && performance.now() - progressAtMs < GIVE_UP_AFTER_MS) {
    await pause(LOOK_EVERY_MS);
    for (const worker of workers) worker.check();
    const now = workers.reduce((total, worker) => total + worker.settled, 0);
    if (now > settled) progressAtMs = performance.now();
    settled = now;
  }
  await pause(AFTERMATH_MS);
  return Promise.all(workers.map((worker) => worker.ask({ type: 'report' }, 'report')));
}
