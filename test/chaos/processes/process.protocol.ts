import type { DelayQueueOptions } from 'nestjs-delay-queue';

export type Role = 'worker' | 'producer';

/** How a process differs from the others of its role. */
export interface StartHow {
  /** Names that it has no handler for: an older build in a rolling deploy. */
  without?: string[];
  /** Its wall clock is off by so much. */
  clockShiftMs?: number;
}

/** What a process of the run is told at its start, as JSON in `CHAOS_PROCESS`. */
export interface ProcessSetup extends StartHow {
  role: Role;
  /** Through the process's own proxy. */
  url: string;
  nodeName: string;
  /** Of this process: the choices of one that follows it in its slot are others. */
  seed: string;
  /** What a producer does; a worker has none. */
  load: LoadSetup | null;
}

export interface LoadSetup {
  /** File of its client's log. */
  log: string;
  ratePerSecond: number;
}

/** What a process is to do to itself. */
export type NodeOrder =
  /** Blocks the event loop. */
  | { blockMs: number }
  /** Takes every connection of the application's pool and keeps them for so long. */
  | { holdPoolMs: number }
  /** Its wall clock jumps by so much from now on (`Date` alone; the monotonic clock stays). */
  | { jumpMs: number };

/** Told once, by a process that works. */
export interface ProcessMessage {
  ready?: true;
}

/** Last words of a process that a payload kills; then its end is nobody's fault. */
export const POISONED = 'a poisonous payload ends this process';

/** The application's own pool; a fault can take all of it. */
export const POOL_MAX = 12;

/** Leases are short, so that a minute holds many of them. */
export const LEASE_MS = 2_000;

/** FullNames for a delay that every fault meets. */
export const MAX_ATTEMPTS = 20;

export const QUEUE: DelayQueueOptions = {
  lease: LEASE_MS,
  horizon: '5s',
  loadEvery: '1s',
  timeout: '3s',
  maxAttempts: MAX_ATTEMPTS,
  backoff: { base: 50, max: '500ms' },
  drainTimeout: '5s',
  history: { attempts: true },
};
