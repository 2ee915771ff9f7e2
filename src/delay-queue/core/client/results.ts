import type { DelayInfo, DelayName, DelayRepeat, ListedDelay, PayloadOf } from '../api/delay.js';
import { DelayCodecError } from '../api/errors.js';
import type { DelayPause, DelayStats } from '../api/selection.js';
import type { Payloads } from '../config/payloads.js';
import type { StoredRepeat } from '../recurrence/recurrence.js';
import type { Placed } from '../store/rows/delay-rows.js';
import { readObject } from '../store/rows/logs.js';
import type { FoundRow, ListedRow } from '../store/sql/delays.sql.js';
import type { NameStatsRow } from '../store/sql/stats.sql.js';

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

/** @param payload decoded */
export const toInfo = <N extends DelayName>(
  row: Omit<FoundRow, 'payload'>,
  payload: unknown,
): DelayInfo<N> => ({
  ...row,
  name: row.name as N,
  payload: payload as PayloadOf<N>,
  ...toRepeat(row.repeat),
});

/** In parallel, so hanging codecs cost one wait. An unreadable payload hides no other delay. */
export const toListed = (rows: readonly ListedRow[], payloads: Payloads): Promise<ListedDelay[]> =>
  Promise.all(
    rows.map(async (row) => {
      const { payload, waitsFor } = row;
      try {
        const given = payload === null ? undefined : await payloads.given(payload, row);
        return { ...toInfo(row, given), waitsFor };
      } catch (error) {
        if (!(error instanceof DelayCodecError)) throw error;
        return { ...toInfo(row, undefined), waitsFor, unreadable: error };
      }
    }),
  );

/** Drops the fields that only the engine uses. */
function toRepeat(text: string | null): Pick<DelayInfo, 'repeat' | 'runsLeft'> {
  const known = readObject(JSON.parse(text ?? 'null')) as StoredRepeat | null;
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

/** Stats of every name that has delays or is served by a node. */
export function combineStats(
  names: readonly NameStatsRow[],
  nodes: DelayStats['nodes'],
  pauses: DelayPause[],
): DelayStats {
  const served = nodes.flatMap((node) => node.names);
  const withDelays = new Set(names.map(({ name }) => name));
  const without = [...new Set(served)].filter((name) => !withDelays.has(name));
  return {
    names: [...names, ...without.map((name) => ({ name, ...NO_DELAYS }))]
      .map((row) => ({ ...row, nodes: served.filter((name) => name === row.name).length }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    nodes,
    pauses,
  };
}

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
