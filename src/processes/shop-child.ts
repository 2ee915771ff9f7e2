import cluster, { type Worker } from 'node:cluster';
import { createInterface } from 'node:readline';
import type { Order, Report } from './protocol.js';

export interface ShopChildEvents {
  onReport(report: Exclude<Report, { type: 'ready' }>): void;
  /** One line that it printed; an error may have several. */
  onLine(line: string): void;
  onExit(how: string): void;
}

export class ShopChild {
  readonly exited: Promise<void>;
  readonly #worker: Worker;
  /** Orders sent before the process listens would be lost: they wait here. */
  #unheard: Order[] | undefined = [];

  /** The process begins to import the shop, and waits for the order to open. */
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

  /** Lets it finish its work; a process that is still importing is killed. */
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
