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
import type { StoredExtras } from '../store/rows/columns.js';
import type { Placed } from '../store/rows/delay-rows.js';
import type { FoundRow, ListedRow } from '../store/sql/delays.sql.js';
import type { EndedRow } from '../store/sql/history.sql.js';
import type { PauseRow } from '../store/sql/nodes.sql.js';
import type { NameStatsRow, NodeStatsRow } from '../store/sql/stats.sql.js';

/** Most lines of one `history`. */
export const HISTORY_MAX = 100;

export type ChangeResult<Verdict extends string> =
  | { verdict: Exclude<Verdict, 'absent'>; id: string; dueAt: Date; rerunCancelled?: true }
  | ('absent' extends Verdict ? { verdict: 'absent' } : never);

/** The caller's result of a write. */
export function changeResult<Verdict extends string>(placed: Placed): ChangeResult<Verdict> {
  const { verdict, id, dueMs, rerunCancelled } = placed;
  if (verdict === 'absent') return { verdict } as ChangeResult<Verdict>;
  const told = rerunCancelled && verdict === 'running' && { rerunCancelled };
  return { verdict, id: String(id), dueAt: new Date(dueMs), ...told } as ChangeResult<Verdict>;
}

/** What a call has set beside the payload. */
export const givenExtras = ({ group, headers }: StoredExtras) => ({
  group,
  headers: (objectOf(headers) ?? {}) as DelayHeaders,
});

export const infoOf = <N extends DelayName>(
  name: N,
  row: Omit<FoundRow, 'payload'>,
  payload: unknown,
): DelayInfo<N> => ({
  ...knownOf(row),
  name,
  payload: payload as PayloadOf<N>,
  state: row.state,
  wakeAt: dateOf(row.wake_ms),
  maxAttempts: row.max_attempts,
  lastError: row.last_error,
  ...repeatOf(row.repeat),
  rerunAt: dateOf(row.rerun_ms),
});

/** What is known of live and of ended delays. */
const knownOf = (row: Omit<FoundRow, 'payload'> | EndedRow) => ({
  id: row.id,
  key: row.key,
  ...givenExtras(row),
  dueAt: new Date(row.due_ms),
  createdAt: new Date(row.created_ms),
  attempts: row.attempts,
  attemptLog: attemptsOf(row.attempt_log, row.state),
  moveLog: movesOf(row.move_log),
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
    ...(untilMs !== undefined && { until: dateOf(untilMs) }),
  } as DelayWait;
}

const dateOf = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));

/** A column that was changed by hand reads as empty: one odd row must not hide the others. */
function objectOf(text: string | null): object | null {
  const value: unknown = JSON.parse(text ?? 'null');
  return typeof value === 'object' && !Array.isArray(value) ? value : null;
}

/** The same for a log: an entry counts if these fields of it are numbers. */
function entriesOf<Entry>(text: string | null, numbers: readonly (keyof Entry)[]): Entry[] {
  const log: unknown = JSON.parse(text ?? 'null');
  const isEntry = (entry: unknown): entry is Entry =>
    numbers.every((field) => typeof Object(entry)[field] === 'number');
  return Array.isArray(log) ? log.filter(isEntry) : [];
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
type KeptAttempt = Pick<DelayAttempt, 'attempt' | 'node'> & { startedMs: number } & Partial<{
    outcome: AttemptOutcome;
    endedMs: number;
    error: string;
  }>;

/** The last attempt of a running delay has no end yet. Any other without an end was lost. */
function attemptsOf(text: string | null, state: LiveState | EndState): DelayAttempt[] {
  const kept = entriesOf<KeptAttempt>(text, ['startedMs']);
  return kept.map(({ attempt, node, startedMs, outcome, endedMs, error }, index) => ({
    attempt,
    outcome: outcome ?? (state === 'running' && index === kept.length - 1 ? 'running' : 'lost'),
    node,
    startedAt: new Date(startedMs),
    endedAt: dateOf(typeof endedMs === 'number' ? endedMs : null),
    error: error ?? null,
  }));
}

type KeptMove = Pick<DelayMove, 'call'> &
  Record<'atMs' | 'fromMs' | 'toMs', number> & { by?: unknown; skipped?: unknown };

const movesOf = (text: string | null): DelayMove[] =>
  entriesOf<KeptMove>(text, ['atMs', 'fromMs', 'toMs']).map(
    ({ call, atMs, fromMs, toMs, by, skipped }) => ({
      call,
      at: new Date(atMs),
      from: new Date(fromMs),
      to: new Date(toMs),
      by: typeof by === 'string' ? by : null,
      ...(typeof skipped === 'number' && { skipped }),
    }),
  );

export const recordOf = (row: EndedRow): DelayRecord => ({
  ...knownOf(row),
  name: row.name,
  state: row.state,
  endedAt: new Date(row.ended_ms),
  latenessMs: row.lateness_ms,
  node: row.node,
  error: row.error,
  by: row.by,
});

export const pauseOf = ({ name, group, reason, by, pausedMs, untilMs }: PauseRow): DelayPause => ({
  name,
  group,
  reason,
  by,
  pausedAt: new Date(pausedMs),
  until: dateOf(untilMs),
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
