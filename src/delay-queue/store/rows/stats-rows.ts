import { type AsText, instantOf, numberOf } from './answers.js';

interface CountsRow {
  scheduled: number;
  running: number;
  retrying: number;
  dead: number;
  overdue: number;
  oldestOverdueMs: number | null;
}

export type NameStatsRow = CountsRow & {
  name: string;
  overduePaused: number;
  overdueLimited: number;
  late: number;
  oldestLateMs: number | null;
};

export type GroupStatsRow = CountsRow & {
  name: string;
  group: string;
  paused: boolean;
  limited: boolean;
};

/** A live node; instants in milliseconds since 1970. */
export interface NodeStatsRow {
  id: string;
  names: string[];
  startedMs: number;
  seenMs: number;
  running: number;
}

type CountsAnswer = AsText<
  'scheduled' | 'running' | 'retrying' | 'dead' | 'overdue',
  'oldest_overdue_ms'
>;

const countsOf = (row: CountsAnswer): CountsRow => ({
  scheduled: Number(row.scheduled),
  running: Number(row.running),
  retrying: Number(row.retrying),
  dead: Number(row.dead),
  overdue: Number(row.overdue),
  oldestOverdueMs: numberOf(row.oldest_overdue_ms),
});

export type NameStatsAnswer = CountsAnswer &
  AsText<'name' | 'paused' | 'limited' | 'late', 'oldest_late_ms'>;

export const nameStatsOf = (row: NameStatsAnswer): NameStatsRow => ({
  name: row.name,
  ...countsOf(row),
  overduePaused: Number(row.paused),
  overdueLimited: Number(row.limited),
  late: Number(row.late),
  oldestLateMs: numberOf(row.oldest_late_ms),
});

export type GroupStatsAnswer = CountsAnswer & AsText<'name' | 'group_id' | 'paused' | 'limited'>;

export const groupStatsOf = (row: GroupStatsAnswer): GroupStatsRow => ({
  name: row.name,
  group: row.group_id,
  ...countsOf(row),
  paused: row.paused === 'true',
  limited: row.limited === 'true',
});

export type NodeStatsAnswer = AsText<'id' | 'names' | 'started_ms' | 'seen_ms' | 'running'>;

export const nodeStatsOf = (row: NodeStatsAnswer): NodeStatsRow => ({
  id: row.id,
  names: JSON.parse(row.names) as string[],
  startedMs: instantOf(row.started_ms),
  seenMs: instantOf(row.seen_ms),
  running: Number(row.running),
});
