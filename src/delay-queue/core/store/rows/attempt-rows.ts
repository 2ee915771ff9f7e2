import { createHash } from 'node:crypto';
import type { AttemptOutcome } from '../../api/delay.js';
import type { Skipped } from '../../recurrence/recurrence.js';
import { type Fence, fenceColumns, flags, numbers } from './delay-rows.js';

/** An advisory lock that ends with its process, however that ends. */
export interface ProcessLock {
  /** A `bigint` that no other process has. */
  readonly number: string;
  /** Whether a session of the process last knew that it holds the lock. */
  readonly isHeld: boolean;
}

export const NO_LOCK: ProcessLock = { number: '0', isHeld: false };

/** A row and how many attempts its handler allows; per row, because names differ. */
export interface LastClaim extends Fence {
  maxAttempts: number;
}

/** A row to claim; the lease, too, is per row. */
export interface ClaimRequest extends LastClaim {
  leaseMs: number;
  /** Its attempt ends with a fence: other nodes may take it over when its process is gone. */
  fenced?: boolean;
}

/** Parameters of a claim: one array per column, beside the node and its process's lock. */
export const claimColumns = (
  requests: readonly ClaimRequest[],
  nodeName: string,
  lock: ProcessLock,
): string[] => [
  ...fenceColumns(requests),
  numbers(requests.map(({ leaseMs }) => leaseMs)),
  numbers(requests.map(({ maxAttempts }) => maxAttempts)),
  nodeName,
  flags(requests.map(({ fenced }) => fenced === true && lock.isHeld)),
  lock.number,
];

/** An attempt that succeeded. */
export interface Completion extends Fence {
  latenessMs: number;
}

/** An attempt that ended while its delay stays. */
export interface Retry extends Fence {
  /** The wait for the next attempt; null: dead letter. */
  waitMs: number | null;
  /** The handler asked for another instant: due moves along with wake. */
  movesDue: boolean;
  /** Attempts given back: 1 when postponed or released. */
  refund: 0 | 1;
  /** Null: the last error stays. */
  error: string | null;
  /** The attempt's entry in the log. */
  ends: RetryEnd;
}

/** How an attempt ended whose delay stays. `unbegun`: its handler was not called. */
type RetryEnd =
  | Exclude<AttemptOutcome, 'completed' | 'superseded' | 'running' | 'lost'>
  | 'unbegun';

/** An attempt whose payload this node cannot read. */
export interface Unread extends Fence {
  /** How long no node takes it; null: its wake stays. */
  waitMs: number | null;
}

/** An occurrence that has ended; its delay goes on. */
export interface EndedOccurrence extends Fence {
  /** When the occurrence was due. */
  dueMs: number;
  /** Undefined: it was the last one, and the row leaves the table. */
  nextMs: number | undefined;
  /** Null: no history row. */
  state: 'completed' | 'discarded' | null;
  /** Null: no attempt ended it. */
  latenessMs: number | null;
  error: string | null;
  /** Null: the node holds it. If not, it is due and has used that many attempts. */
  maxAttempts: number | null;
  /** Instants that are left out before the next one. */
  skipped?: Skipped | undefined;
  /** What its repeat stores from then on. */
  more: Readonly<Record<string, unknown>>;
}

/**
 * Spreads ids over nodes, the same in SQL and here. Fibonacci hashing (Knuth, TAOCP 6.4): the id
 * times 2^32 divided by the golden ratio, upper 24 of 32 bits. Plain `id % n` would give all closes
 * of a shop that makes three delays per order to one of three nodes.
 */
const GOLDEN = 1_640_531_527;

/** SQL for the spread of a bigint expression, 0 to 2^24 - 1. */
export const spreadSql = (id: string): string =>
  `((((${id}) & 4294967295) * ${GOLDEN} & 4294967295) >> 8)`;

/** The spread of an id, 0 to 2^24 - 1. */
export const spread = (id: number): number => (Math.imul(id >>> 0, GOLDEN) >>> 0) >>> 8;

/**
 * SQL for the number of a group, 0 to 2^32 - 1, equal to {@link groupNumber}. Not MD5, which some
 * servers refuse, nor a hash function of Postgres, which no node can compute.
 */
export const groupNumberSql = (group: string): string =>
  `('x' || pg_catalog.encode(pg_catalog.substr(pg_catalog.sha256(pg_catalog.convert_to(${group}, 'UTF8')), 1, 4), 'hex'))::bit(32)::bigint`;

/** The number of a group, which is spread over nodes as ids are. */
export const groupNumber = (group: string): number =>
  createHash('sha256').update(group).digest().readUInt32BE(0);

/** Up to so many names, searching the list is no slower than a lookup. */
const LOOKED_THROUGH_MAX = 32;

const indexes = new WeakMap<readonly string[], string>();

/**
 * The position of each name in the list, from 1, as JSON, for a node that serves very many:
 * Postgres searches an array from its start, for each row. `null` for a few.
 */
export function nameIndex(names: readonly string[]): string | null {
  if (names.length <= LOOKED_THROUGH_MAX) return null;
  let index = indexes.get(names);
  if (index === undefined) {
    index = JSON.stringify(Object.fromEntries(names.map((name, at) => [name, at + 1])));
    indexes.set(names, index);
  }
  return index;
}
