import type { DelayPause } from '../api/selection.js';
import { DEAD_READ_MAX, type Read, WAKES_READ_MAX } from './store/overview.store.js';
import type { RowOf } from '../store/rows/columns.js';
import type {
  AHEAD,
  DeadRow,
  DueRow,
  EndsRow,
  NAME_COUNT,
  NodeSeenRow,
} from './store/overview.sql.js';
import type { Count, NameLine } from './contract.js';

/** What was counted, by name. */
export interface Counted {
  /** Names that are shown even if nothing was counted of them. */
  known: readonly string[];
  due: Read<DueRow>;
  ahead: Read<RowOf<typeof AHEAD>>;
  dead: Read<DeadRow>;
  ends: Read<EndsRow>;
  /** Of a viewer who sees some groups alone: live delays of these. */
  inGroups: Read<RowOf<typeof NAME_COUNT>> | null;
  /** Live delays of common names, as the planner has them. */
  estimates: ReadonlyMap<string, number>;
  /** Live ones. */
  nodes: readonly NodeSeenRow[];
  pauses: readonly DelayPause[];
}

export function nameLines(counted: Counted): NameLine[] {
  const { known, due, ahead, dead, ends, inGroups } = counted;
  const counts: readonly Read<{ name: string }>[] = [due, ahead, dead, ends];
  const found = [...counts, ...(inGroups ? [inGroups] : [])].flatMap(({ rows }) => rows);
  const names = new Set([...known, ...found.map(({ name }) => name)]);
  return [...names].toSorted().map((name) => nameLine(name, counted));
}

function nameLine(name: string, counted: Counted): NameLine {
  const { due, ahead, dead, ends, nodes, pauses } = counted;
  const isDueAll = due.read < WAKES_READ_MAX;
  const isAheadAll = ahead.read < WAKES_READ_MAX;
  const isDeadAll = dead.read < DEAD_READ_MAX;
  const now = of(due, name);
  const later = of(ahead, name);
  const ended = of(ends, name);
  const letters = of(dead, name);
  const deadCount = letters?.count ?? 0;
  const running = now?.running ?? 0;
  const late = now?.late ?? 0;
  const held = now?.held ?? 0;
  const seen = running + late + held + (later?.scheduled ?? 0) + (later?.retrying ?? 0) + deadCount;
  return {
    name,
    live: liveCount(name, seen, isDueAll && isAheadAll && isDeadAll, counted),
    running: counting(running, isDueAll),
    retrying: counting((now?.retrying ?? 0) + (later?.retrying ?? 0), isDueAll && isAheadAll),
    dead: counting(deadCount, isDeadAll),
    late: counting(late, isDueAll),
    oldestLateMs: now?.oldestLateMs ?? null,
    held: counting(held, isDueAll),
    isPaused: pauses.some((pause) => pause.name === name && pause.group === null),
    nodes: nodes.filter((node) => node.names.includes(name)).length,
    // `since` says what was read, and of that it is all.
    completed: counting(ended?.completed ?? 0, true),
    retries: [now, later, letters, ended].reduce((sum, row) => sum + (row?.retries ?? 0), 0),
    cancelled: ended?.cancelled ?? 0,
    discarded: ended?.discarded ?? 0,
    latenessMs: latenessOf(ended),
  };
}

/** Without an index by name, the planner's share of a common name is the best there is. */
function liveCount(
  name: string,
  seen: number,
  isAll: boolean,
  { inGroups, estimates }: Counted,
): Count {
  if (isAll) return { count: seen, is: 'exact' };
  const listed = inGroups && of(inGroups, name);
  if (inGroups && inGroups.read < WAKES_READ_MAX) {
    return { count: listed?.count ?? 0, is: 'exact' };
  }
  const counted = Math.max(seen, listed?.count ?? 0);
  const estimate = estimates.get(name);
  if (estimate === undefined || estimate < counted) return { count: counted, is: 'atLeast' };
  return { count: estimate, is: 'about' };
}

const counting = (count: number, isAll: boolean): Count => ({
  count,
  is: isAll ? 'exact' : 'atLeast',
});

const of = <Row extends { name: string }>({ rows }: Read<Row>, name: string): Row | undefined =>
  rows.find((row) => row.name === name);

function latenessOf(ended: EndsRow | undefined): NameLine['latenessMs'] {
  if (ended?.p50 == null) return null;
  const { p50, p95, p99 } = ended;
  return { p50, p95: p95 ?? p50, p99: p99 ?? p50 };
}
