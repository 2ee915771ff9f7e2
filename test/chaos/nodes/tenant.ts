import { faketimeLibrary, offBy } from '../../support/faketime.js';
import { NodeProcess } from '../../support/node-process.js';
import {
  type Counts,
  POISONED,
  type ProcessMessage,
  type ProcessOrder,
  type ProcessSetup,
} from '../processes/process.protocol.js';

/** Compiling and connecting, on a machine that has other things to do as well. */
const READY_WITHIN_MS = 45_000;

/** Nothing that a fault explains. */
const SUSPECT = /^.*(?:unhandled|uncaught|MaxListeners|(?:Type|Reference|Range|Syntax)Error).*$/im;

const TOLD_CHARS = 3_000;

/** One process in a slot, from its start to its end. */
export class Tenant {
  readonly nodeName: string;
  /** How it ended: `SIGKILL`, `code 0`. */
  readonly gone: Promise<string>;
  /** It works. */
  isReady = false;
  /** Somebody of the run has ended it. */
  isEvicted = false;
  readonly #process: NodeProcess<ProcessMessage>;

  constructor(setup: ProcessSetup) {
    this.nodeName = setup.nodeName;
    this.#process = NodeProcess.start<ProcessMessage>('test/chaos/processes/main.ts', {
      env: environmentOf(setup),
    });
    this.gone = this.#process.exited.then(
      ({ code, signal }) => signal ?? `code ${code}`,
      (error: Error) => error.message,
    );
  }

  get isAlive(): boolean {
    return this.#process.running;
  }

  /** A payload has killed it. */
  get isPoisoned(): boolean {
    return this.output.includes(POISONED);
  }

  get output(): string {
    return this.#process.output;
  }

  /** @throws when it ends before, or hangs */
  async ready(): Promise<void> {
    await this.#process.waitFor((message) => 'ready' in message, READY_WITHIN_MS);
    this.isReady = true;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    void this.#process.kill(signal);
  }

  order(order: ProcessOrder): void {
    this.#process.send(order);
  }

  /** @returns how it ended */
  async evict(signal: 'SIGKILL' | 'SIGTERM'): Promise<string> {
    this.isEvicted = true;
    void this.#process.kill(signal);
    return this.gone;
  }

  /** What it has told since the last time. */
  counts(): Counts[] {
    const messages = this.#process.messages.splice(0);
    return messages.flatMap((message) => ('counts' in message ? [message.counts] : []));
  }

  /** A line of its output that should not be there. */
  stalled(): string | undefined {
    return SUSPECT.exec(this.output)?.[0];
  }

  tells(what: string): string {
    const output = this.output.slice(-TOLD_CHARS).trimEnd() || 'nothing';
    return `${this.nodeName} ${what}. It printed:\n${output}`;
  }
}

let found: { library: string | undefined } | undefined;

/** A clock that is off is off for all of the process where `faketime` is installed, else for `Date`. */
function environmentOf(setup: ProcessSetup): Record<string, string> {
  const { clockShiftMs } = setup;
  found ??= { library: faketimeLibrary() };
  if (clockShiftMs === 0 || found.library === undefined) {
    return { CHAOS_PROCESS: JSON.stringify(setup) };
  }
  const told: ProcessSetup = { ...setup, clockShiftMs: 0 };
  return { ...offBy(found.library, clockShiftMs), CHAOS_PROCESS: JSON.stringify(told) };
}
