import type { DelayPause } from '../core/index.js';
import { DEAD_READ_MAX, type Found, type Read, WAKES_READ_MAX } from './store/overview.store.js';
import type { Count, NameLine } from './contract.js';

/** What was counted, by name. */
export interface NameCounts {
  /** Names that are shown even if nothing was counted for them. */
  known: readonly string[];
  due: Found<'due'>;
  ahead: Found<'ahead'>;
  dead: Found<'dead'>;
  ends: Found<'ends'>;
  /** For a viewer restricted to groups: the live delays of those groups. */
  inGroups: Found<'namesInScope'> | null;
  /** Live delays of common names, as the planner estimates them. */
  estimates: ReadonlyMap<string, number>;
  /** Live ones. */
  nodes: Found<'nodes'>;
  pauses: readonly DelayPause[];
}

export function nameLines(counted: NameCounts): NameLine[] {
  const { known, due, ahead, dead, ends, inGroups } = counted;
  const counts: readonly Read<{ name: string }>[] = [due, ahead, dead, ends];
  const found = [...counts, ...(inGroups ? [inGroups] : [])].flatMap(({ rows }) => rows);
  const names = new Set([...known, ...found.map(({ name }) => name)]);
  return [...names].toSorted().map((name) => nameLine(name, counted));
}

function nameLine(name: string, counted: NameCounts): NameLine {
  const { due, ahead, dead, ends, nodes, pauses } = counted;
  const isDueAll = due.read < WAKES_READ_MAX;
  const isAheadAll = ahead.read < WAKES_READ_MAX;
  const isDeadAll = dead.read < DEAD_READ_MAX;
  const now = rowNamed(due, name);
  const later = rowNamed(ahead, name);
  const ended = rowNamed(ends, name);
  const letters = rowNamed(dead, name);
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
    // Exact for the span that begins at `since`.
    completed: counting(ended?.completed ?? 0, true),
    retries: [now, later, letters, ended].reduce((sum, row) => sum + (row?.retries ?? 0), 0),
    cancelled: ended?.cancelled ?? 0,
    discarded: ended?.discarded ?? 0,
    latenessMs: latenessPercentiles(ended),
  };
}

/** Without an index by name, the planner's estimate is the best there is for a common name. */
function liveCount(
  name: string,
  seen: number,
  isAll: boolean,
  { inGroups, estimates }: NameCounts,
): Count {
  if (isAll) return { count: seen, is: 'exact' };
  const listed = inGroups && rowNamed(inGroups, name);
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

const rowNamed = <Row extends { name: string }>(
  { rows }: Read<Row>,
  name: string,
): Row | undefined => rows.find((row) => row.name === name);

function latenessPercentiles(
  ended: Found<'ends'>['rows'][number] | undefined,
): NameLine['latenessMs'] {
  if (ended?.p50 == null) return null;
  const { p50, p95, p99 } = ended;
  return { p50, p95: p95 ?? p50, p99: p99 ?? p50 };
}
