/** Instants in the simulated Postgres: whole microseconds since 1970, as `timestamptz` holds them. */
export type Micros = number;

/** One row of the table `delay`. Never changed in place: a write makes a new version. */
export interface Row {
  readonly id: number;
  readonly name: string;
  readonly key: string | null;
  readonly payload: string;
  readonly dueAt: Micros;
  /** Infinity: a dead letter. */
  readonly wakeAt: Micros;
  readonly leasedUntil: Micros | null;
  readonly leasedBy: string | null;
  readonly createdAt: Micros;
  readonly epoch: number;
  readonly attempts: number;
  readonly maxAttempts: number | null;
  readonly lastError: string | null;
}

/** One line of `history`. */
export interface Ended {
  readonly id: number;
  readonly endedAt: Micros;
  readonly dueAt: Micros;
  readonly createdAt: Micros;
  readonly latenessMs: number | null;
  readonly epoch: number;
  readonly attempts: number;
  readonly state: 'completed' | 'cancelled' | 'discarded' | 'superseded';
  readonly name: string;
  readonly key: string | null;
  readonly node: string | null;
  readonly error: string | null;
}

/** One row of `node`. */
export interface NodeRow {
  readonly id: string;
  readonly names: readonly string[];
  readonly present: boolean;
  readonly seenAt: Micros;
}

export const msOf = (instant: Micros): number => instant / 1_000;

/** As the statements answer: milliseconds, as `numeric` or a whole number has them. */
export const msText = (instant: Micros): string => String(msOf(instant));

/** Whole microseconds. */
export const usText = (instant: Micros): string => String(instant);

export const textOrNull = (value: number | null | undefined): string | null =>
  value == null ? null : String(value);

export const microsOf = (ms: number): Micros => Math.round(ms * 1_000);

export const plusMs = (instant: Micros, ms: number): Micros => instant + microsOf(ms);

/** As `wholeMs` in the library's SQL: up to the next whole millisecond. */
export const wholeMs = (instant: Micros): Micros => Math.ceil(instant / 1_000) * 1_000;

/** `GREATEST(wake_at, leased_until)`, which ignores NULL. */
export const wakeOf = (row: Row): Micros => Math.max(row.wakeAt, row.leasedUntil ?? -Infinity);

export const isDead = (row: Row): boolean => row.wakeAt === Infinity;

/** Order of the index `(wake_at, id)`. */
export const byWake = (a: Row, b: Row): number =>
  a.wakeAt === b.wakeAt ? a.id - b.id : a.wakeAt - b.wakeAt;

/** A row that no attempt holds, in columns of `UPDATE … SET`. */
export const UNLEASED = { leasedUntil: null, leasedBy: null } as const;

export function endedOf(
  row: Row,
  state: Ended['state'],
  endedAt: Micros,
  more: Partial<Pick<Ended, 'latenessMs' | 'node' | 'error'>> = {},
): Ended {
  const { id, dueAt, createdAt, epoch, attempts, name, key } = row;
  const rest = { latenessMs: null, node: null, error: null, ...more };
  return { id, endedAt, dueAt, createdAt, epoch, attempts, state, name, key, ...rest };
}
