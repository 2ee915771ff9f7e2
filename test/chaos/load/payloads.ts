import 'nestjs-delay-queue';
import type { ChaosPayload } from '../record/client-line.js';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    /** Delays of a chaos run. */
    [name: `chaos.${string}`]: ChaosPayload;
  }
}

/** Rows that a handler may not insert: their numbers are taken. */
export const TAKEN_TABLE = `CREATE TABLE chaos.taken (number integer PRIMARY KEY)`;
export const TAKE_ONE = `INSERT INTO chaos.taken VALUES (1)`;

/** The name that a deploy leaves out on some nodes. */
export const RARE = 'chaos.rare';

/** What a batch that somebody spoiled throws; never one of a single delay. */
export const SPOILED = 'the batch is spoiled';

/** Names that the load schedules. */
export type ChaosName = `chaos.${string}`;

/** Names of the batch handlers: one call at a time on each node, so that one claim is one batch. */
export const BATCHED = {
  'chaos.batch': { transactional: false },
  'chaos.batch-fenced': { transactional: true },
  'chaos.batch-recurring': { transactional: true },
} as const satisfies Record<ChaosName, { transactional: boolean }>;
