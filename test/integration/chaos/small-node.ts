import type { openProxy } from '../../chaos/proxy/proxy.js';
import type { ChaosNode, NodeOrder, Role, StartHow } from '../../chaos/world.js';
import { NodeProcess } from '../../support/node-process.js';
import type { SmallNodeMessage, SmallNodeSetup } from './small-node.protocol.js';

type Process = NodeProcess<SmallNodeMessage> & { how: StartHow };

/** A node whose process does nothing but write rows (see `fixtures/small-node.ts`). */
export class SmallNode implements ChaosNode {
  /** All that ever ran in this slot, oldest first. */
  readonly processes: Process[] = [];

  constructor(
    readonly slot: string,
    readonly role: Role,
    readonly proxy: Awaited<ReturnType<typeof openProxy>>,
    private readonly hasten: (ms: number) => number,
  ) {}

  get running(): boolean {
    return this.processes.at(-1)?.running ?? false;
  }

  get messages(): SmallNodeMessage[] {
    return this.processes.flatMap(({ messages }) => messages);
  }

  async start(how: StartHow = {}): Promise<void> {
    if (this.running) throw new Error(`${this.slot} runs already`);
    const setup: SmallNodeSetup = { ...how, url: this.proxy.url };
    const process = Object.assign(
      NodeProcess.start<SmallNodeMessage>('test/integration/fixtures/small-node.ts', {
        env: { CHAOS_SMALL_NODE: JSON.stringify(setup) },
      }),
      { how },
    );
    this.processes.push(process);
    await process.waitFor(({ committed }) => committed !== undefined);
  }

  /** Until it has committed something that it began only now. */
  async works(): Promise<void> {
    const process = this.#process;
    // One of them may be under way.
    const last = process.messages.reduce((n, message) => Math.max(n, numberOf(message)), 0) + 1;
    await process.waitFor((message) => message.committed !== undefined && numberOf(message) > last);
  }

  async kill(): Promise<void> {
    await this.#process.kill('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.#process.kill('SIGTERM');
  }

  pause(): void {
    void this.#process.kill('SIGSTOP');
  }

  resume(): void {
    void this.#process.kill('SIGCONT');
  }

  order(order: NodeOrder): void {
    if ('blockMs' in order) this.#process.send({ blockMs: this.hasten(order.blockMs) });
    else if ('holdPoolMs' in order) {
      this.#process.send({ holdPoolMs: this.hasten(order.holdPoolMs) });
    } else this.#process.send(order);
  }

  get #process(): Process {
    const process = this.processes.at(-1);
    if (!process) throw new Error(`${this.slot} has not been started`);
    return process;
  }
}

/** Rows are called by process and number. */
function numberOf({ committed, failed }: SmallNodeMessage): number {
  return Number((committed ?? failed)?.split('-')[1] ?? 0);
}
