import { setTimeout as pause } from 'node:timers/promises';
import { NodeProcess } from '../support/node-process.js';
import type { ProcessMessage, ProcessSetup } from './process.protocol.js';

const ORDERS_PER_SECOND = 25;
const READY_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 60_000;

/** One that places orders beside the others, which place as many as they are to place together. */
const OF_ANOTHER_PER_SECOND = 5;

/** A line of the library in the log of its application. */
const LOG_LINE = /^.*\[DelayQueue\].*$/gm;

/** The processes of the application, and what they say of their orders. */
export class Fleet {
  /** At which `Date.now()` the answer to its COMMIT came, by order. */
  readonly placed = new Map<string, number>();
  readonly paid = new Set<string>();
  readonly errors = new Map<string, number>();
  readonly odd: string[] = [];
  readonly #running: NodeProcess<ProcessMessage>[] = [];
  #isOver = false;

  constructor(
    private readonly url: string,
    private readonly count: number,
  ) {}

  /** Resolves when all of them work. */
  async start(): Promise<void> {
    const ordersPerSecond = ORDERS_PER_SECOND / this.count;
    const ready = Array.from({ length: this.count }, (_, n) =>
      this.#launch({ nodeName: `node-${n + 1}`, isWorker: true, ordersPerSecond }),
    ).map((each) => each.waitFor((message) => 'ready' in message, READY_WITHIN_MS));
    await Promise.all(ready);
  }

  /** As an orchestrator would: again, as long as it cannot start. */
  another(isWorker: boolean): void {
    const nodeName = isWorker ? 'late-worker' : 'late-producer';
    void this.#startAgain({ nodeName, isWorker, ordersPerSecond: OF_ANOTHER_PER_SECOND });
  }

  get logLines(): number {
    const outputs = this.#running.map(({ output }) => output);
    return outputs.reduce((lines, output) => lines + (output.match(LOG_LINE)?.length ?? 0), 0);
  }

  /** What they said of the library. */
  get log(): string {
    return this.#running
      .map(({ output }) => (output.match(LOG_LINE) ?? []).join('\n'))
      .join('\n--\n');
  }

  /** Resolves when the last order that had been begun is placed and paid, or was given up. */
  async stopPlacing(): Promise<void> {
    this.#isOver = true;
    const ready = this.#running.filter(
      ({ running, messages }) => running && messages.some((message) => 'ready' in message),
    );
    await Promise.all(
      ready.map(async (each) => {
        each.send({ stopPlacing: true });
        await each.waitFor((message) => 'placesNoMore' in message, READY_WITHIN_MS);
      }),
    );
  }

  /** They drain. */
  async stop(): Promise<void> {
    await Promise.all(
      this.#running.map(async (each) => {
        if (!each.running) return;
        const exit = await Promise.race([each.kill('SIGTERM'), pause(STOP_WITHIN_MS)]);
        if (exit === undefined || exit.code !== 0)
          this.odd.push(
            `a process ended by ${exit ? (exit.signal ?? `code ${exit.code}`) : 'none'} after SIGTERM`,
          );
      }),
    );
  }

  async kill(): Promise<void> {
    this.#isOver = true;
    await Promise.all(
      this.#running.filter(({ running }) => running).map((each) => each.kill('SIGKILL')),
    );
  }

  async #startAgain(setup: Omit<ProcessSetup, 'url'>): Promise<void> {
    while (!this.#isOver) {
      const launched = this.#launch(setup, true);
      try {
        await launched.waitFor((message) => 'ready' in message, READY_WITHIN_MS);
        // Who was not ready when the others were told to stop would place orders to the end.
        if (this.#isOver) launched.send({ stopPlacing: true });
        return;
      } catch {
        await launched.kill('SIGKILL');
        await pause(1_000);
      }
    }
  }

  #launch(setup: Omit<ProcessSetup, 'url'>, mayFail = false): NodeProcess<ProcessMessage> {
    const env = { PATRONI_PROCESS: JSON.stringify({ ...setup, url: this.url }), NO_COLOR: '1' };
    const launched = NodeProcess.start<ProcessMessage>('test/patroni/application.ts', { env });
    this.#running.push(launched);
    launched.onMessage((message) => this.#hear(message));
    void launched.exited.then(({ code }) => {
      const isOurs = this.#isOver || mayFail;
      if (!isOurs)
        this.odd.push(`a process ended by itself, code ${code}: ${launched.output.slice(-2_000)}`);
    });
    return launched;
  }

  #hear(message: ProcessMessage): void {
    if ('placed' in message) this.placed.set(message.placed, message.atMs);
    else if ('paid' in message) this.paid.add(message.paid);
    else if ('failed' in message)
      this.errors.set(message.failed, (this.errors.get(message.failed) ?? 0) + 1);
  }
}
