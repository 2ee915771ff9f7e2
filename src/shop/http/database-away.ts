/** Postgres, or what is between it and here. */
const AWAY_STATES = /^(?:08...|57P0[1235]|53...|25006)$/;
const AWAY_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'DELAY_OUTCOME_UNKNOWN',
  'DELAY_SHUTDOWN',
  'DELAY_UNAVAILABLE',
]);
/** The driver has no code for what it notices itself. */
const AWAY_WORDS =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout|Cannot use a pool after)/i;

/** Others hold what is needed, and held it for too long: Postgres is there. */
const BUSY = /^(?:40001|40P01|55P03|57014|DELAY_UNSTABLE)$/;

/** It took a question and did not answer. */
export class DatabaseSilentError extends Error {
  readonly code = 'ETIMEDOUT';

  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

export type DatabaseTrouble = 'away' | 'busy';

/** @returns what is the matter with the database; `null`: it is something else */
export function databaseTrouble(error: unknown): DatabaseTrouble | null {
  // Not by its class: what Node throws itself is of another realm's where code runs in a VM.
  if (typeof error !== 'object' || error === null) return null;
  const { code = '', message = '', cause } = error as Record<string, unknown>;
  const [name, words] = [String(code), String(message)];
  if (AWAY_STATES.test(name) || AWAY_CODES.has(name) || AWAY_WORDS.test(words)) return 'away';
  return BUSY.test(name) ? 'busy' : databaseTrouble(cause);
}
