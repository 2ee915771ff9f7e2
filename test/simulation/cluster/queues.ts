import { currentProcess, type SimProcess } from '../time/sim-process.js';
import type { Entry } from '../../../src/delay-queue/intake/entry.js';
import { Batcher, InFlight, ReadyQueue, TimingWheel } from './engine.js';

/** What the engine of one process keeps in memory, by kind: seen from outside, at the first use. */
export interface Queues {
  readonly ready: Set<{ size: number }>;
  readonly wheels: Set<{ size: number }>;
  readonly unwritten: Set<{ size: number }>;
  readonly inFlight: Set<{ size: number }>;
  /** What was due, until it is forgotten: nothing else says that the read-ahead knows it still. */
  readonly entries: Set<Entry>;
}

const queues = new WeakMap<SimProcess, Queues>();

export function queuesOf(process: SimProcess): Queues {
  let known = queues.get(process);
  if (known === undefined) {
    known = {
      ready: new Set(),
      wheels: new Set(),
      unwritten: new Set(),
      inFlight: new Set(),
      entries: new Set(),
    };
    queues.set(process, known);
  }
  return known;
}

const total = (parts: Set<{ size: number }>): number =>
  [...parts].reduce((sum, part) => sum + part.size, 0);

export const sizesOf = ({ ready, wheels, unwritten, inFlight, entries }: Queues) => ({
  ready: total(ready),
  wheels: total(wheels),
  unwritten: total(unwritten),
  inFlight: total(inFlight),
  entries: [...entries].filter(({ place }) => place !== 'gone').length,
});

/** The engine makes its queues itself and keeps them to itself: their first use gives them away. */
function notice(prototype: object, method: string, kind: Exclude<keyof Queues, 'entries'>): void {
  const original = Reflect.get(prototype, method) as (...args: unknown[]) => unknown;
  Reflect.set(prototype, method, function noticed(this: { size: number }, ...args: unknown[]) {
    const known = queuesOf(currentProcess());
    known[kind].add(this);
    if (kind === 'ready') known.entries.add(args[0] as Entry);
    return original.apply(this, args);
  });
}

notice(ReadyQueue.prototype, 'push', 'ready');
notice(TimingWheel.prototype, 'add', 'wheels');
notice(Batcher.prototype, 'add', 'unwritten');
notice(InFlight.prototype, 'add', 'inFlight');
