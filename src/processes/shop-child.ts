import cluster, { type Worker } from 'node:cluster';
import { createInterface } from 'node:readline';
import type { Order, Report } from './protocol.js';

/** What becomes of a shop process. */
export interface ShopChildEvents {
  onReport(report: Exclude<Report, { type: 'ready' }>): void;
  /** It printed a line, or an error of several lines did. */
  onLine(line: string): void;
  onExit(how: string): void;
}

/** A shop process as the supervisor holds it. */
export class ShopChild {
  readonly exited: Promise<void>;
  readonly #worker: Worker;
  /** What it is told before it hears would be lost. */
  #unheard: Order[] | undefined = [];

  /** It begins to import the shop, and waits for its opening. */
  constructor(events: ShopChildEvents) {
    const worker = cluster.fork();
    this.#worker = worker;
    worker.on('message', (report: Report) => {
      if (report.type === 'ready') this.#hears();
      else events.onReport(report);
    });
    for (const output of [worker.process.stdout, worker.process.stderr]) {
      if (output) createInterface({ input: output }).on('line', (line) => events.onLine(line));
    }
    this.exited = new Promise((resolve) => {
      worker.once('exit', (code, signal) => {
        resolve();
        events.onExit(signal ? `killed by ${signal}` : `ended with code ${code}`);
      });
    });
  }

  get pid(): number {
    return this.#worker.process.pid ?? 0;
  }

  tell(order: Order): void {
    if (this.#unheard) this.#unheard.push(order);
    else if (this.#worker.isConnected()) this.#worker.send(order, () => {});
  }

  /** Lets it finish what it does; one that is still importing does nothing. */
  stop(): void {
    if (this.#unheard) this.kill();
    else this.tell({ type: 'stop' });
  }

  kill(): void {
    this.#worker.process.kill('SIGKILL');
  }

  #hears(): void {
    const orders = this.#unheard ?? [];
    this.#unheard = undefined;
    for (const order of orders) this.tell(order);
  }
}
