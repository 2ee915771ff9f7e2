import { currentProcess, type SimProcess } from '../time/sim-process.js';
import { Batcher, InFlight, ReadAhead, ReadyQueue } from './engine.js';

/** What the engine of one process keeps in memory, by kind: seen from outside, at the first use. */
export interface Queues {
  readonly ready: Set<{ size: number }>;
  readonly readAhead: Set<{ size: number }>;
  readonly unwritten: Set<{ size: number }>;
  readonly inFlight: Set<{ size: number }>;
}

const queues = new WeakMap<SimProcess, Queues>();

export function queuesOf(process: SimProcess): Queues {
  let known = queues.get(process);
  if (known === undefined) {
    known = {
      ready: new Set(),
      readAhead: new Set(),
      unwritten: new Set(),
      inFlight: new Set(),
    };
    queues.set(process, known);
  }
  return known;
}

const total = (parts: Set<{ size: number }>): number =>
  [...parts].reduce((sum, part) => sum + part.size, 0);

export const sizesOf = ({ ready, readAhead, unwritten, inFlight }: Queues) => ({
  ready: total(ready),
  readAhead: total(readAhead),
  unwritten: total(unwritten),
  inFlight: total(inFlight),
});

/** The engine makes its queues itself and keeps them to itself: their first use gives them away. */
function notice(prototype: object, method: string, kind: keyof Queues): void {
  const original = Reflect.get(prototype, method) as (...args: unknown[]) => unknown;
  Reflect.set(prototype, method, function noticed(this: { size: number }, ...args: unknown[]) {
    queuesOf(currentProcess())[kind].add(this);
    return original.apply(this, args);
  });
}

notice(ReadyQueue.prototype, 'push', 'ready');
notice(ReadAhead.prototype, 'arm', 'readAhead');
notice(Batcher.prototype, 'add', 'unwritten');
notice(InFlight.prototype, 'add', 'inFlight');
