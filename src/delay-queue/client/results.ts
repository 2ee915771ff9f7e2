import type {
  AttemptOutcome,
  DelayAttempt,
  DelayHeaders,
  DelayInfo,
  DelayMove,
  DelayName,
  DelayRecord,
  DelayRepeat,
  DelayWait,
  EndState,
  ListedDelay,
  LiveState,
  PayloadOf,
} from '../api/delay.js';
import { DelayCodecError } from '../api/errors.js';
import type { DelayPause, DelayStats } from '../api/selection.js';
import type { Payloads } from '../config/payloads.js';
import type { StoredRepeat } from '../recurrence/recurrence.js';
import type { Extras } from '../store/rows/columns.js';
import type { FoundRow, ListedRow } from '../store/sql/delays.sql.js';
import type { EndedRow } from '../store/sql/history.sql.js';
import type { PauseRow } from '../store/sql/nodes.sql.js';
import type { NameStatsRow, NodeStatsRow } from '../store/sql/stats.sql.js';

/** Most lines of one `history`. */
export const HISTORY_MAX = 100;

/** What a call has set beside the payload. */
export const givenExtras = ({ group, headers }: Extras) => ({
  group,
  headers: (objectOf(headers) ?? {}) as DelayHeaders,
});

export const infoOf = <N extends DelayName>(
  name: N,
  row: Omit<FoundRow, 'payload'>,
  payload: unknown,
): DelayInfo<N> => ({
  id: row.id,
  name,
  key: row.key,
  ...givenExtras(row),
  payload: payload as PayloadOf<N>,
  state: row.state,
  dueAt: new Date(row.due_ms),
  wakeAt: row.wake_ms === null ? null : new Date(row.wake_ms),
  attempts: row.attempts,
  maxAttempts: row.max_attempts,
  lastError: row.last_error,
  createdAt: new Date(row.created_ms),
  ...repeatOf(row.repeat),
  attemptLog: attemptsOf(row.attempt_log, row.state),
  moveLog: movesOf(row.move_log),
  rerunAt: row.rerun_ms === null ? null : new Date(row.rerun_ms),
});

/** In parallel, so hanging codecs cost one wait. An unreadable payload hides no other delay. */
export const listedOf = (rows: readonly ListedRow[], payloads: Payloads): Promise<ListedDelay[]> =>
  Promise.all(
    rows.map(async (row) => {
      const name = row.name as DelayName;
      const waitsFor = waitOf(row.waits_for);
      try {
        const { payload } = row;
        const given = payload === null ? undefined : await payloads.given(payload, row);
        return { ...infoOf(name, row, given), waitsFor };
      } catch (error) {
        if (!(error instanceof DelayCodecError)) throw error;
        return { ...infoOf(name, row, undefined), waitsFor, unreadable: error };
      }
    }),
  );

/** Parses the statement's JSON, in which instants are numbers. */
function waitOf(text: string | null): DelayWait | null {
  if (text === null) return null;
  const { sinceMs, untilMs, ...told } = JSON.parse(text) as {
    sinceMs?: number;
    untilMs?: number | null;
  };
  return {
    ...told,
    ...(sinceMs !== undefined && { since: new Date(sinceMs) }),
    ...(untilMs !== undefined && { until: untilMs === null ? null : new Date(untilMs) }),
  } as DelayWait;
}

/** A column that was changed by hand reads as empty: one odd row must not hide the others. */
function objectOf(text: string | null): object | null {
  const value: unknown = text === null ? null : JSON.parse(text);
  return typeof value === 'object' && !Array.isArray(value) ? value : null;
}

/** Drops the fields that only the engine uses. */
function repeatOf(text: string | null): Pick<DelayInfo, 'repeat' | 'runsLeft'> {
  const known = objectOf(text) as StoredRepeat | null;
  if (known === null) return { repeat: null };
  const { catchUp, until, limit, ran = 0, ...rule } = known;
  const end = {
    ...(until !== undefined && { until: new Date(until) }),
    ...(limit !== undefined && { limit }),
  };
  const repeat: DelayRepeat =
    'every' in rule
      ? { every: rule.every, catchUp, ...end }
      : { cron: rule.cron, timeZone: rule.timeZone, catchUp, ...end };
  return { repeat, ...(limit !== undefined && { runsLeft: Math.max(0, limit - ran) }) };
}

/** An attempt as the row stores it. It has no end if none was written. */
type KeptAttempt = Pick<DelayAttempt, 'attempt' | 'node'> & { startedMs: number } & (
    | { outcome: AttemptOutcome; endedMs?: number; error?: string }
    | { outcome?: never; endedMs?: never; error?: never }
  );

const isAttempt = (entry: unknown): entry is KeptAttempt =>
  typeof entry === 'object' &&
  entry !== null &&
  'startedMs' in entry &&
  typeof entry.startedMs === 'number';

/** The last attempt of a running delay has no end yet. Any other without an end was lost. */
function attemptsOf(text: string | null, state: LiveState | EndState): DelayAttempt[] {
  if (text === null) return [];
  const log: unknown = JSON.parse(text);
  const kept = Array.isArray(log) ? log.filter(isAttempt) : [];
  return kept.map(({ attempt, node, startedMs, outcome, endedMs, error }, index) => ({
    attempt,
    outcome: outcome ?? (state === 'running' && index === kept.length - 1 ? 'running' : 'lost'),
    node,
    startedAt: new Date(startedMs),
    endedAt: typeof endedMs === 'number' ? new Date(endedMs) : null,
    error: error ?? null,
  }));
}

type KeptMove = Pick<DelayMove, 'call'> & {
  atMs: number;
  fromMs: number;
  toMs: number;
  by?: unknown;
  skipped?: unknown;
};

const isMove = (entry: unknown): entry is KeptMove =>
  typeof entry === 'object' &&
  entry !== null &&
  ['atMs', 'fromMs', 'toMs'].every((at) => typeof Reflect.get(entry, at) === 'number');

function movesOf(text: string | null): DelayMove[] {
  const log: unknown = text === null ? null : JSON.parse(text);
  if (!Array.isArray(log)) return [];
  return log.filter(isMove).map(({ call, atMs, fromMs, toMs, by, skipped }) => ({
    call,
    at: new Date(atMs),
    from: new Date(fromMs),
    to: new Date(toMs),
    by: typeof by === 'string' ? by : null,
    ...(typeof skipped === 'number' && { skipped }),
  }));
}

export const recordOf = (row: EndedRow): DelayRecord => ({
  id: row.id,
  name: row.name,
  key: row.key,
  ...givenExtras(row),
  state: row.state,
  dueAt: new Date(row.due_ms),
  createdAt: new Date(row.created_ms),
  endedAt: new Date(row.ended_ms),
  latenessMs: row.lateness_ms,
  attempts: row.attempts,
  node: row.node,
  error: row.error,
  attemptLog: attemptsOf(row.attempt_log, row.state),
  moveLog: movesOf(row.move_log),
  by: row.by,
});

export const pauseOf = ({ name, group, reason, by, pausedMs, untilMs }: PauseRow): DelayPause => ({
  name,
  group,
  reason,
  by,
  pausedAt: new Date(pausedMs),
  until: untilMs === null ? null : new Date(untilMs),
});

/** Stats of every name that has delays or is served by a node. */
export function statsOf(
  names: readonly NameStatsRow[],
  nodes: readonly NodeStatsRow[],
  pauses: DelayPause[],
): DelayStats {
  const served = nodes.flatMap((node) => node.names);
  const withDelays = new Set(names.map(({ name }) => name));
  const without = [...new Set(served)].filter((name) => !withDelays.has(name));
  return {
    names: [...names, ...without.map((name) => ({ name, ...NO_DELAYS }))]
      .map((row) => ({ ...row, nodes: served.filter((name) => name === row.name).length }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    nodes: nodes.map(nodeOf),
    pauses,
  };
}

export const nodeOf = ({
  id,
  startedMs,
  seenMs,
  ...node
}: NodeStatsRow): DelayStats['nodes'][number] => ({
  name: id,
  ...node,
  startedAt: new Date(startedMs),
  seenAt: new Date(seenMs),
});

const NO_DELAYS = {
  scheduled: 0,
  running: 0,
  retrying: 0,
  dead: 0,
  overdue: 0,
  oldestOverdueMs: null,
  overduePaused: 0,
  overdueLimited: 0,
  late: 0,
  oldestLateMs: null,
};
