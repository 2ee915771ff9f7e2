import { setTimeout as pause } from 'node:timers/promises';
import type { Counts, ProcessOrder, ProcessSetup } from '../processes/process.protocol.js';
import type { ChaosNode, ChaosProxy, Role, StartHow } from '../world.js';
import { Tenant } from './tenant.js';

const AGAIN_AFTER_MS = 250;
const STARTED_WITHIN_MS = 120_000;

/** Handlers have 5 s to end, a producer's calls 10 s, and a half-open connection 15 s to be noticed. */
const STOPPED_WITHIN_MS = 75_000;

/** What a slot is made of. */
export interface SlotParts {
  slot: string;
  role: Role;
  proxy: ChaosProxy;
  setupOf: (nodeName: string) => Omit<ProcessSetup, 'nodeName' | 'without' | 'clockShiftMs'>;
  /** Something that no fault explains. */
  onOdd: (what: string) => void;
  /** A process has ended, with all that it printed. */
  onEnd: (nodeName: string, output: string) => void;
  /** It runs, or does not run any more. */
  onChange: () => void;
  log: (line: string) => void;
}

/** One place of the run, and the processes that follow one another in it. */
export class Slot implements ChaosNode {
  /** How it shall run; undefined: not at all. A process that a payload kills is replaced. */
  #wanted: StartHow | undefined;
  #tenant: Tenant | undefined;
  #starting: Promise<void> | undefined;
  #tenants = 0;
  /** Told by processes that are gone. */
  #left: Counts[] = [];

  constructor(private readonly parts: SlotParts) {}

  get slot(): string {
    return this.parts.slot;
  }

  get role(): Role {
    return this.parts.role;
  }

  get proxy(): ChaosProxy {
    return this.parts.proxy;
  }

  get running(): boolean {
    return this.#tenant?.isReady === true && this.#tenant.isAlive;
  }

  start(how: StartHow = {}): Promise<void> {
    this.#wanted = how;
    this.#starting ??= this.#startAsWanted().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async kill(): Promise<void> {
    this.#wanted = undefined;
    await this.#evict('SIGKILL');
    await this.#starting?.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#wanted = undefined;
    const timer = setTimeout(() => {
      this.#tellOdd(`did not end within ${STOPPED_WITHIN_MS} ms of SIGTERM`);
      void this.#evict('SIGKILL');
    }, STOPPED_WITHIN_MS);
    // One that is still starting has nothing to drain.
    await this.#evict(this.running ? 'SIGTERM' : 'SIGKILL');
    await this.#starting?.catch(() => {});
    clearTimeout(timer);
  }

  pause(): void {
    if (this.running) this.#tenant?.signal('SIGSTOP');
  }

  resume(): void {
    if (this.running) this.#tenant?.signal('SIGCONT');
  }

  order(order: ProcessOrder): void {
    // A payload may have killed it just now.
    if (this.running) this.#tenant?.order(order);
  }

  /** What its processes have told since the last time. */
  counts(): Counts[] {
    const told = [...this.#left, ...(this.#tenant?.counts() ?? [])];
    this.#left = [];
    return told;
  }

  /** Another order, or none, may come while a process starts. */
  async #startAsWanted(): Promise<void> {
    const giveUpAtMs = performance.now() + STARTED_WITHIN_MS;
    while (this.#wanted !== undefined && !this.running) {
      const how = this.#wanted;
      try {
        await this.#moveIn(how).ready();
        if (!isSame(this.#wanted, how)) await this.#evict('SIGKILL');
      } catch (error) {
        await this.#evict('SIGKILL');
        if (performance.now() > giveUpAtMs) throw error;
        if (this.#wanted !== undefined) await pause(AGAIN_AFTER_MS);
      }
    }
    this.parts.onChange();
  }

  #moveIn({ without = [], clockShiftMs = 0 }: StartHow): Tenant {
    this.#tenants += 1;
    const nodeName = `${this.slot}.${this.#tenants}`;
    const setup = { ...this.parts.setupOf(nodeName), nodeName, without, clockShiftMs };
    const tenant = new Tenant(setup);
    this.#tenant = tenant;
    void tenant.gone.then((how) => this.#movedOut(tenant, how));
    return tenant;
  }

  async #evict(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const tenant = this.#tenant;
    if (tenant?.isAlive !== true) return;
    const how = await tenant.evict(signal);
    const isAsAsked = how === 'code 0' || tenant.isPoisoned;
    if (signal === 'SIGTERM' && !isAsAsked) this.#tellOdd(`ended with ${how} after SIGTERM`);
  }

  #movedOut(tenant: Tenant, how: string): void {
    const { nodeName, output } = tenant;
    this.parts.onEnd(nodeName, output);
    this.#left.push(...tenant.counts());
    const stalled = tenant.stalled();
    if (stalled !== undefined) this.parts.onOdd(tenant.tells(`said "${stalled}"`));
    if (tenant.isEvicted) return;
    if (!tenant.isReady) {
      const said = output.trimEnd().split('\n').at(-1) ?? '';
      this.parts.log(`         ${nodeName} did not start (${how}), another follows: ${said}`);
      return;
    }
    if (tenant.isPoisoned) this.parts.log(`         ${nodeName} was killed by a payload`);
    else this.parts.onOdd(tenant.tells(`ended by itself (${how})`));
    if (this.#wanted === undefined) return;
    this.start(this.#wanted).catch((error: Error) => this.#tellOdd(error.message));
  }

  #tellOdd(what: string): void {
    this.parts.onOdd(this.#tenant?.tells(what) ?? `${this.slot} ${what}`);
  }
}

const isSame = (a: StartHow | undefined, b: StartHow): boolean =>
  JSON.stringify(a) === JSON.stringify(b);
