import type { MoveTo } from '../validation/when.js';
import type { Placed, PlacedRow, Placement, Runner } from './rows.js';
import { slotOf } from './slot.js';

/** The three columns of a statement's input that say when; exactly one of them is set. */
export function columnsOf(to: MoveTo): {
  afterMs: number | null;
  at: string | null;
  extendMs: number | null;
} {
  return {
    afterMs: to.kind === 'after' ? to.ms : null,
    at: to.kind === 'at' ? to.iso : null,
    extendMs: to.kind === 'extend' ? to.ms : null,
  };
}

/** Parameters of `place`, and the first ones of `placeAgain`: one array per column. */
export function placementColumns(placements: readonly Placement[]): unknown[] {
  const to = placements.map((placement) => columnsOf(placement.to));
  return [
    placements.map((placement) => placement.name),
    placements.map((placement) => placement.key),
    placements.map((placement) => placement.payload),
    to.map((column) => column.afterMs),
    to.map((column) => column.at),
    placements.map((placement) => placement.maxAttempts),
  ];
}

/** Parameters of `placeAgain`. */
export const placeAgainColumns = (placements: readonly Placement[]): unknown[] => [
  ...placementColumns(placements),
  placements.map((placement) => placement.onConflict),
];

/** @param verdict for statements that answer only rows of one */
export function placedOf(row: PlacedRow, verdict = row.verdict): Placed {
  return {
    verdict,
    id: row.id,
    dueMs: row.due_ms,
    epoch: row.epoch,
    wakeMs: row.wake_ms,
    nowMs: row.now_ms,
  };
}

/** Runs a `place` statement: inserts what can be inserted; a hole where the key was taken. */
export async function insert(
  runner: Runner,
  sql: string,
  placements: readonly Placement[],
): Promise<(Placed | undefined)[]> {
  const rows = await runner.query<PlacedRow>(sql, placementColumns(placements));
  // Ids follow the order of the input; Postgres promises no order of what RETURNING answers.
  rows.sort((a, b) => a.id - b.id);
  if (rows.length === placements.length) return rows.map(scheduled);
  // Of the keyless ones, the first is the first. Keyed ones say which they are.
  const keyless: PlacedRow[] = [];
  const keyed = new Map<string, PlacedRow>();
  for (const row of rows) {
    if (row.key === null) keyless.push(row);
    else keyed.set(slotOf(row), row);
  }
  let next = 0;
  return placements.map((placement) => {
    const row = placement.key === null ? keyless[next++] : keyed.get(slotOf(placement));
    return row && scheduled(row);
  });
}

const scheduled = (row: PlacedRow): Placed => placedOf(row, 'scheduled');
