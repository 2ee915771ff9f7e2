import { createRequire, syncBuiltinESMExports } from 'node:module';
import { performance as monotonic } from 'node:perf_hooks';
import { currentProcess } from './sim-process.js';

/** The true ones, taken before anything is replaced. */
const truly = {
  nextTick: process.nextTick.bind(process),
  random: Math.random.bind(Math),
  Date: globalThis.Date,
};

/** 2026-01-01, where simulated time begins. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** Runs `step` when no microtask is left. */
export const whenQuiet = (step: () => void): void => {
  queueMicrotask(() => truly.nextTick(step));
};

class SimDate extends truly.Date {
  constructor(...args: unknown[]) {
    super(...((args.length === 0 ? [SimDate.now()] : args) as [number]));
  }

  static override now(): number {
    const { timeline, wallOffsetMs } = currentProcess();
    return Math.floor(EPOCH_MS + timeline.nowMs + wallOffsetMs);
  }
}

type Args = unknown[];
type Fn = (...args: Args) => void;

const clear = (timer: unknown): void => currentProcess().clear(timer);

const now = (): number => currentProcess().monotonicMs();

/** What a simulated process finds in place of the real globals. */
function replacements(random: () => number): [object: object, property: string, value: unknown][] {
  return [
    [
      globalThis,
      'setTimeout',
      (fn: Fn, ms: number, ...args: Args) => currentProcess().setTimeout(fn, ms, ...args),
    ],
    [
      globalThis,
      'setImmediate',
      (fn: Fn, ...args: Args) => currentProcess().setImmediate(fn, ...args),
    ],
    [
      globalThis,
      'setInterval',
      (fn: Fn, ms: number, ...args: Args) => currentProcess().setInterval(fn, ms, ...args),
    ],
    [globalThis, 'clearInterval', clear],
    [globalThis, 'clearTimeout', clear],
    [globalThis, 'clearImmediate', clear],
    [globalThis, 'Date', SimDate],
    [globalThis.performance, 'now', now],
    [monotonic, 'now', now],
    [Math, 'random', random],
    [process, 'nextTick', (fn: Fn, ...args: Args) => queueMicrotask(() => fn(...args))],
  ];
}

/** @returns what puts the real globals back */
export function replaceGlobals(random: () => number): () => void {
  const undo: (() => void)[] = [];
  for (const [object, property, value] of replacements(random)) {
    const before = Object.getOwnPropertyDescriptor(object, property);
    Object.defineProperty(object, property, { value, configurable: true, writable: true });
    undo.push(() => {
      if (before) Object.defineProperty(object, property, before);
      else Reflect.deleteProperty(object, property);
    });
  }
  return () => {
    for (const step of undo.toReversed()) step();
  };
}

/**
 * `import { setTimeout } from 'node:timers/promises'` takes the function itself, once. What is
 * imported while this runs gets one that asks whose time it is at each call.
 */
export async function withSimulatedPauses<Modules>(load: () => Promise<Modules>): Promise<Modules> {
  const timers = createRequire(import.meta.url)('node:timers/promises') as {
    setTimeout: unknown;
  };
  const real = timers.setTimeout;
  timers.setTimeout = (ms: number, value: unknown, options?: { ref?: boolean }) =>
    new Promise((resolve) => {
      const timer = currentProcess().setTimeout(() => resolve(value), ms);
      if (options?.ref === false) timer.unref();
    });
  // Under Jest a module of Node's is copied when it is imported; outside, its exports are live.
  const isCopied = 'JEST_WORKER_ID' in process.env;
  if (!isCopied) syncBuiltinESMExports();
  try {
    return await load();
  } finally {
    if (isCopied) timers.setTimeout = real;
  }
}
