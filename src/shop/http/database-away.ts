/** States of Postgres, or of what is between it and the shop. */
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
/** The driver has no code for errors of its own. */
const AWAY_WORDS =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Query read timeout|Cannot use a pool after)/i;

/** Locked or busy for too long, but Postgres is there. */
const BUSY = /^(?:40001|40P01|55P03|57014|DELAY_UNSTABLE)$/;

/** The database accepted a query and did not answer. */
export class DatabaseSilentError extends Error {
  readonly code = 'ETIMEDOUT';

  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

export type DatabaseTrouble = 'away' | 'busy';

/** @returns what is wrong with the database; `null`: the error is about something else */
export function databaseTrouble(error: unknown): DatabaseTrouble | null {
  // Not by its class: Node's own errors are of another realm where code runs in a VM.
  if (typeof error !== 'object' || error === null) return null;
  const { code = '', message = '', cause } = error as Record<string, unknown>;
  const [name, words] = [String(code), String(message)];
  if (AWAY_STATES.test(name) || AWAY_CODES.has(name) || AWAY_WORDS.test(words)) return 'away';
  return BUSY.test(name) ? 'busy' : databaseTrouble(cause);
}
