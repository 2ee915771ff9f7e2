import { setTimeout as pause } from 'node:timers/promises';
import { DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { TAKE_ONE } from './payloads.js';

/** What an odd handler knows when it acts. */
export interface Scene {
  attempt: number;
  timeoutMs: number;
  manager: EntityManager | undefined;
}

/** Misbehaves, on the first attempts or on all; what returns has ended well. */
type Act = (scene: Scene) => Promise<void> | void;

const cycle: { self?: unknown } = {};
cycle.self = cycle;

const thrower =
  (thrown: () => unknown): Act =>
  ({ attempt }) => {
    if (attempt <= 2) throw thrown();
  };

/** Everything that a handler may do to the engine, by the name that payloads have for it. */
export const ACTS: Readonly<Record<string, Act>> = {
  'throws a cycle': thrower(() => cycle),
  'throws NUL': thrower(() => new Error('a\0b \ud800')),
  'rejects late': async ({ attempt, timeoutMs }) => {
    if (attempt > 1) return;
    await pause(timeoutMs + 300);
    throw new Error('too late');
  },
  'never returns': async ({ attempt }) => {
    if (attempt === 1) await new Promise<void>(() => {});
  },
  // The transaction is aborted, and the handler pretends that all is well.
  'swallows an SQL error': async ({ attempt, manager }) => {
    if (attempt <= 2) await manager?.query(TAKE_ONE).catch(() => {});
  },
  postpones: () => {
    if (Math.random() < 0.6) throw new PostponeDelay('200ms');
  },
  discards: () => {
    throw new DiscardDelay('not wanted any more');
  },
  'always fails': () => {
    throw new Error('always');
  },
};

export const ODD_ACTS = Object.keys(ACTS);
