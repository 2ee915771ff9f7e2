import type { Delay, DelayBatchContext } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import type { Kind } from '../odd-handlers/odd-handler.js';

/** What an odd batch handler may lay its hands on. */
export interface BatchReach {
  /** All of the call, the odd one among them. */
  delays: Delay[];
  odd: Delay;
  ctx: DelayBatchContext & { manager?: EntityManager };
}

/** A batch handler that does something nobody should do because of one of its delays. */
export interface OddBatch {
  what: string;
  /** Both, when left out. */
  kinds?: readonly Kind[];
  act: (reach: BatchReach) => unknown;
  /** How the odd delay ends. */
  ends: 'completed' | 'dead' | 'postponed';
  /** How the others end; completed when left out. */
  others?: 'dead' | 'postponed';
  /** What the dead letter of the odd one says. */
  error?: RegExp;
  /** A minute when left out. */
  timeoutMs?: number;
}
