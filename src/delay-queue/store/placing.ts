import type { MoveTo } from '../validation/when.js';
import type { Placed, PlacedRow, Placement } from './rows.js';

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
