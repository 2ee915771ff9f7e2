import type { DelayQueueOptions } from 'nestjs-delay-queue';
import type { NodeOrder, Role } from '../world.js';

/** What a process of the run is told at its start, as JSON in `CHAOS_PROCESS`. */
export interface ProcessSetup {
  role: Role;
  /** Through the process's own proxy. */
  url: string;
  nodeName: string;
  /** Of this process: the choices of one that follows it in its slot are others. */
  seed: string;
  /** What a producer does; a worker has none. */
  load: LoadSetup | null;
  /** Names that it has no handler for. */
  without: readonly string[];
  mutant: string | null;
  /** Its wall clock is off by so much from the start. */
  clockShiftMs: number;
}

export interface LoadSetup {
  /** File of its client's log. */
  log: string;
  ratePerSecond: number;
  /** Payloads that kill their worker, so often per minute. */
  poisonPerMinute: number;
}

export type ProcessOrder =
  | NodeOrder
  /** To producers: the calm is over. */
  | { poisonPerMinute: number };

/** What a process tells. */
export type ProcessMessage = { ready: true } | { counts: Counts };

/** What it has done since it told the last time. */
export interface Counts {
  /** Delays that it has asked for. */
  scheduled: number;
  /** Attempts that ended a delay: completed, moved on, buried. */
  ended: number;
  /** Of delays that ran for the first time and were due in the future when they were asked for. */
  latenessMs: number[];
}

/** Last words of a process that a payload kills; then its end is nobody's fault. */
export const POISONED = 'a poisonous payload ends this process';

/** Leases are short, so that a minute holds many of them. */
export const LEASE_MS = 2_000;

/** Enough for a delay that every fault meets. */
export const MAX_ATTEMPTS = 20;

export const QUEUE: DelayQueueOptions = {
  lease: LEASE_MS,
  horizon: '5s',
  loadEvery: '1s',
  timeout: '3s',
  maxAttempts: MAX_ATTEMPTS,
  backoff: { base: 50, max: '500ms' },
  drainTimeout: '5s',
};
