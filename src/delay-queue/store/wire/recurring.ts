import type { AsText } from './answers.js';
import type { Wake } from './wakes.js';

/** An occurrence that is over: its delay goes on. */
export interface Recurring {
  id: number;
  epoch: number;
  /** Of the occurrence. */
  dueMs: number;
  nextMs: number;
  /** Null: it leaves no line in history. */
  state: 'completed' | 'discarded' | null;
  /** Null: no attempt ended it. */
  latenessMs: number | null;
  error: string | null;
  /** Null: the node holds it. Else it is due, and has used as many attempts. */
  maxAttempts: number | null;
}

export interface RecurredRow {
  id: number;
  epoch: number;
  name: string;
  key: string | null;
  group: string | null;
  /** Those of the occurrence that is over, and its error. */
  attempts: number;
  error: string | null;
  wake_ms: number;
}

export type RecurAnswer = AsText<
  'id' | 'epoch' | 'name' | 'attempts' | 'wake_ms',
  'key' | 'group_id' | 'error'
>;

export const recurredOf = ({ group_id: group, ...row }: RecurAnswer): RecurredRow => ({
  ...row,
  group,
  id: Number(row.id),
  epoch: Number(row.epoch),
  attempts: Number(row.attempts),
  wake_ms: Number(row.wake_ms),
});

/** Where it waits now. */
export const wakeOfRecurred = ({ id, epoch, name, group, wake_ms: wakeMs }: RecurredRow): Wake => ({
  id,
  epoch,
  name,
  group,
  wakeMs,
  stalled: false,
  failed: false,
});
