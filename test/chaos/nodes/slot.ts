import { setTimeout as pause } from 'node:timers/promises';
import type { NodeProcess } from '../../support/node-process.js';
import {
  type NodeOrder,
  POISONED,
  type ProcessMessage,
  type Role,
  type StartHow,
} from '../processes/process.protocol.js';
import type { PostgresProxy } from '../proxy/proxy.js';

const AGAIN_AFTER_MS = 250;
const STARTED_WITHIN_MS = 120_000;

/** Compiling and connecting, on a machine that has other things to do as well. */
const READY_WITHIN_MS = 45_000;

/** Handlers have 5 s to end, a producer's calls 10 s, and a half-open connection 15 s to be noticed. */
const STOPPED_WITHIN_MS = 75_000;

/** Nothing that a fault explains. */
const SUSPECT =
  /^.*(?:unhandled|uncaught|MaxListeners|syntax error|(?:Type|Reference|Range|Syntax)Error).*$/im;

const TOLD_CHARS = 3_000;

/** What a slot is made of. */
export interface SlotParts {
  /** `worker-1`; the processes that follow one another in it have node names of their own. */
  slot: string;
  role: Role;
  proxy: PostgresProxy;
  launch: (nodeName: string, how: StartHow) => NodeProcess<ProcessMessage>;
  /** Something that no fault explains. */
  onOdd: (what: string) => unknown;
  /** It runs, or does not run any more. */
  onChange: () => void;
  log: (line: string) => void;
}

/** One process in a slot, from its start to its end. */
interface Tenant {
  nodeName: string;
  process: NodeProcess<ProcessMessage>;
  isReady: boolean;
  /** Somebody of the run has ended it. */
  isEvicted: boolean;
}

/** One place of the run, and the processes that follow one another in it. */
export class Slot {
  readonly slot: string;
  readonly role: Role;
  readonly proxy: PostgresProxy;
  /** How it shall run; undefined: not at all. A process that a payload kills is replaced. */
  #wanted: StartHow | undefined;
  #tenant: Tenant | undefined;
  #starting: Promise<void> | undefined;
  #tenants = 0;

  constructor(private readonly parts: SlotParts) {
    this.slot = parts.slot;
    this.role = parts.role;
    this.proxy = parts.proxy;
  }

  get running(): boolean {
    return this.#tenant?.isReady === true && this.#tenant.process.running;
  }

  /** Another process in this slot; resolves when it is ready. Tries again while the server is away. */
  start(how: StartHow = {}): Promise<void> {
    this.#wanted = how;
    this.#starting ??= this.#startAsWanted().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  /** SIGKILL; resolves when the process is gone. */
  async kill(): Promise<void> {
    this.#wanted = undefined;
    await this.#evict('SIGKILL');
    await this.#starting?.catch(() => {});
  }

  /** SIGTERM; resolves when it has drained and gone. */
  async stop(): Promise<void> {
    this.#wanted = undefined;
    const timer = setTimeout(() => {
      this.#tellOdd(`did not end within ${STOPPED_WITHIN_MS} ms of SIGTERM`);
      void this.#evict('SIGKILL');
    }, STOPPED_WITHIN_MS);
    // One that is still starting has nothing to drain.
    const how = await this.#evict(this.running ? 'SIGTERM' : 'SIGKILL');
    if (how && how !== 'code 0' && how !== 'SIGKILL')
      this.#tellOdd(`ended with ${how} after SIGTERM`);
    await this.#starting?.catch(() => {});
    clearTimeout(timer);
  }

  pause(): void {
    if (this.running) void this.#tenant?.process.kill('SIGSTOP');
  }

  resume(): void {
    if (this.running) void this.#tenant?.process.kill('SIGCONT');
  }

  order(order: NodeOrder): void {
    // A payload may have killed it just now.
    if (this.running) this.#tenant?.process.send(order);
  }

  /** Another order, or none, may come while a process starts. */
  async #startAsWanted(): Promise<void> {
    const giveUpAtMs = performance.now() + STARTED_WITHIN_MS;
    while (this.#wanted !== undefined && !this.running) {
      const how = this.#wanted;
      try {
        const tenant = this.#moveIn(how);
        await tenant.process.waitFor(({ ready }) => ready === true, READY_WITHIN_MS);
        tenant.isReady = true;
        if (this.#wanted !== how) await this.#evict('SIGKILL');
      } catch (error) {
        await this.#evict('SIGKILL');
        if (performance.now() > giveUpAtMs) throw error;
        if (this.#wanted !== undefined) await pause(AGAIN_AFTER_MS);
      }
    }
    this.parts.onChange();
  }

  #moveIn(how: StartHow): Tenant {
    this.#tenants += 1;
    const nodeName = `${this.slot}.${this.#tenants}`;
    const process = this.parts.launch(nodeName, how);
    const tenant = { nodeName, process, isReady: false, isEvicted: false };
    this.#tenant = tenant;
    void process.exited.then(({ code, signal }) =>
      this.#movedOut(tenant, signal ?? `code ${code}`),
    );
    return tenant;
  }

  /** @returns how it ended, unless nobody was there */
  async #evict(signal: 'SIGKILL' | 'SIGTERM'): Promise<string | undefined> {
    const tenant = this.#tenant;
    if (tenant?.process.running !== true) return undefined;
    tenant.isEvicted = true;
    const exit = await tenant.process.kill(signal);
    return exit?.signal ?? `code ${exit?.code}`;
  }

  #movedOut({ nodeName, process, isReady, isEvicted }: Tenant, how: string): void {
    const { output } = process;
    const [suspect] = SUSPECT.exec(output) ?? [];
    if (suspect !== undefined) this.#tellOdd(`said "${suspect}"`);
    if (isEvicted) return;
    if (!isReady) {
      const said = output.trimEnd().split('\n').at(-1) ?? '';
      this.parts.log(`${nodeName} did not start (${how}), another follows: ${said}`);
      return;
    }
    if (output.includes(POISONED)) this.parts.log(`${nodeName} was killed by a payload`);
    else this.#tellOdd(`ended by itself (${how})`);
    if (this.#wanted === undefined) return;
    this.start(this.#wanted).catch((error: Error) => this.#tellOdd(error.message));
  }

  #tellOdd(what: string): void {
    const { nodeName = this.slot, process } = this.#tenant ?? {};
    const printed = process?.output.slice(-TOLD_CHARS).trimEnd() || 'nothing';
    this.parts.onOdd(`${nodeName} ${what}. It printed:\n${printed}`);
  }
}
