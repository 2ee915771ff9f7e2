import { freePort, HOST } from '../../src/embedded-postgres/free-port.js';
import type { HealthReport } from 'nestjs-delay-queue';
import { NodeProcess } from '../support/node-process.js';
import type { ProcessMessage, ProcessOrder, ProcessSetup } from './process.protocol.js';

export const NAMES = ['shop-1', 'shop-2', 'shop-3'] as const;
export type Name = (typeof NAMES)[number];

const STARTS_WITHIN_MS = 120_000;
const ORDER_EVERY_MS = 500;
const ANSWERS_WITHIN_MS = 8_000;

/** Three processes of the shop, and buyers who place two orders a second. */
export class Shop {
  readonly #processes = new Map<Name, NodeProcess<ProcessMessage>>();
  #buying: NodeJS.Timeout | undefined;

  static async start(setup: Omit<ProcessSetup, 'nodeName' | 'port'>): Promise<Shop> {
    const ports = new Map<Name, number>();
    for (const name of NAMES) ports.set(name, await freePort(0));
    const shop = new Shop(setup, ports);
    // One after the other, for two of them would look for the same free memory.
    for (const name of NAMES) await shop.open(name);
    shop.#buying = setInterval(() => void shop.#place().catch(() => {}), ORDER_EVERY_MS);
    return shop;
  }

  private constructor(
    private readonly setup: Omit<ProcessSetup, 'nodeName' | 'port'>,
    readonly ports: ReadonlyMap<Name, number>,
  ) {}

  /** How Prometheus calls the process. */
  instance(name: Name): string {
    return `${HOST}:${this.ports.get(name)}`;
  }

  async open(nodeName: Name): Promise<void> {
    const setup: ProcessSetup = { ...this.setup, nodeName, port: this.ports.get(nodeName) ?? 0 };
    const process = NodeProcess.start<ProcessMessage>('test/at-night/process.ts', {
      env: { AT_NIGHT: JSON.stringify(setup) },
    });
    this.#processes.set(nodeName, process);
    await process.waitFor((message) => 'ready' in message, STARTS_WITHIN_MS);
  }

  async tell(name: Name, does: ProcessOrder['does']): Promise<void> {
    const process = this.#of(name);
    const before = process.messages.length;
    process.send({ does });
    await process.waitFor(
      (message) => 'done' in message && process.messages.indexOf(message) >= before,
    );
  }

  async kill(name: Name): Promise<void> {
    await this.#of(name).kill('SIGKILL');
  }

  /** Undefined while it does not answer. */
  async health(name: Name): Promise<HealthReport | undefined> {
    const answer = await fetch(`http://${this.instance(name)}/health`, {
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    }).catch(() => undefined);
    return answer?.ok === true ? ((await answer.json()) as HealthReport) : undefined;
  }

  async close(): Promise<void> {
    clearInterval(this.#buying);
    await Promise.all([...this.#processes.values()].map((process) => process.kill('SIGKILL')));
  }

  /** What the processes have printed. */
  get output(): string {
    return [...this.#processes].map(([name, { output }]) => `--- ${name}\n${output}`).join('\n');
  }

  async #place(): Promise<void> {
    const name = NAMES[Math.floor(Math.random() * NAMES.length)] ?? NAMES[0];
    const answer = await fetch(`http://${this.instance(name)}/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ items: [{ sku: 'TEA-SAMPLE', quantity: 1 }] }),
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
    });
    await answer.body?.cancel();
  }

  #of(name: Name): NodeProcess<ProcessMessage> {
    const process = this.#processes.get(name);
    if (process === undefined) throw new Error(`There is no process ${name}.`);
    return process;
  }
}
