import 'nestjs-delay-queue';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    /** Delays of a chaos run. */
    [name: `chaos.${string}`]: ChaosPayload;
  }
}

/**
 * Payload of every delay of the chaos run. A handler that schedules another delay gives it a token
 * of its own, made from the parent's, so that it is the same whenever the attempt is repeated.
 */
export interface ChaosPayload {
  token: string;
  /** Token of the delay whose handler scheduled this one. */
  parent?: string;
  /** How many more times a recurring delay moves on, or how long a chain still is. */
  left?: number;
  /** What the handler does, chosen by the producer from the seed. */
  act?: string;
}

/** Of the run that follows, on the same row; undefined after the last one. */
export function nextRun({ token, left = 0 }: ChaosPayload): ChaosPayload | undefined {
  if (left === 0) return undefined;
  const [base, run = '0'] = token.split('#');
  return { token: `${base}#${Number(run) + 1}`, parent: token, left: left - 1 };
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
