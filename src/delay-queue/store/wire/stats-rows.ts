import type { AsText } from './answers.js';

/** Delays of one name. */
export interface NameStatsRow {
  name: string;
  scheduled: number;
  running: number;
  retrying: number;
  dead: number;
  overdue: number;
  oldestOverdueMs: number | null;
}

/** A node that lives; instants in milliseconds since 1970. */
export interface NodeStatsRow {
  id: string;
  names: string[];
  startedMs: number;
  seenMs: number;
  running: number;
}

export type NameStatsAnswer = AsText<
  'name' | 'scheduled' | 'running' | 'retrying' | 'dead' | 'overdue',
  'oldest_overdue_ms'
>;

export const nameStatsOf = (row: NameStatsAnswer): NameStatsRow => ({
  name: row.name,
  scheduled: Number(row.scheduled),
  running: Number(row.running),
  retrying: Number(row.retrying),
  dead: Number(row.dead),
  overdue: Number(row.overdue),
  oldestOverdueMs: row.oldest_overdue_ms === null ? null : Number(row.oldest_overdue_ms),
});

export type NodeStatsAnswer = AsText<'id' | 'names' | 'started_ms' | 'seen_ms' | 'running'>;

export const nodeStatsOf = (row: NodeStatsAnswer): NodeStatsRow => ({
  id: row.id,
  names: JSON.parse(row.names) as string[],
  startedMs: Number(row.started_ms),
  seenMs: Number(row.seen_ms),
  running: Number(row.running),
});
