import { isRefusedByServer } from './driver-errors.js';

/** How it reads, by what the driver or Postgres calls it: a SQLSTATE, a code of Node or the message. */
const TROUBLES = {
  login: ['the database refuses the login', /^28|^3D000$|^SASL/],
  full: ['the database has no connection left', /^53300$/],
  exhausted: ['the database has run out of memory or disk', /^53/],
  closing: ['the database is starting or closing', /^57P0[23]$/],
  cancelled: ['the statement was cancelled on the server', /user request$/],
  slow: ['the database did not answer in time', /^57014$|^25P0[34]$|^Query read timeout$/],
  locked: ['another session holds a lock for too long', /^55P03$/],
  pool: ['all connections of the pool are in use', /^timeout exceeded when trying to connect$/],
  hanging: [
    'the database accepted no connection in time',
    /^timeout expired$|connection timeout$|^ETIMEDOUT$/,
  ],
  lost: [
    'the connection to the database was lost',
    /^08|^57P01$|^ECONNRESET$|^EPIPE$|^Connection terminated|not queryable/,
  ],
  unreachable: [
    'the database cannot be reached',
    /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EACCES|ENOENT)$|CERT|SSL/,
  ],
} as const satisfies Record<string, readonly [reads: string, of: RegExp]>;

export type Trouble = keyof typeof TROUBLES;

const KINDS = Object.keys(TROUBLES) as Trouble[];

/** Why the database did not do it, where that is no fault of the statement; of an error or its causes. */
export function classifyTrouble(error: unknown): Trouble | undefined {
  const told = causeChain(error).flatMap(({ code, message }) => [message, code]);
  const texts = told.filter((text): text is string => typeof text === 'string');
  return KINDS.find((kind) => texts.some((text) => TROUBLES[kind][1].test(text)));
}

/** Worded as the beginning of a sentence that ends with the error itself. */
export function readsTrouble(error: unknown): string {
  const trouble = classifyTrouble(error);
  if (trouble !== undefined) return TROUBLES[trouble][0];
  return isRefusedByServer(error)
    ? 'the database refuses the statement'
    : 'the database does not answer';
}

/** With its cause, and the cause of that. Not by class: a test has another one than Node. */
export function causeChain(error: unknown): { code?: unknown; message?: unknown }[] {
  const chain: { code?: unknown; message?: unknown }[] = [];
  for (let at: unknown = error; chain.length < 5; at = at.cause) {
    if (typeof at !== 'object' || at === null) break;
    chain.push(at);
    if (!('cause' in at)) break;
  }
  return chain;
}
