import type { DelayLine } from '../../contract.js';

type Row = Pick<DelayLine, 'id' | 'endedAt'>;

/** What has ended cannot be changed. */
export const isSelectable = ({ endedAt }: Row): boolean => endedAt === null;

/**
 * Which ids are selected after a click on row `to`, with Shift pressed after one on row `from`. The
 * clicked row toggles, and those between take its new state.
 */
export function toggledRange(
  ids: ReadonlySet<string>,
  rows: readonly Row[],
  from: number,
  to: number,
): Set<string> {
  const next = new Set(ids);
  const clicked = rows[to];
  if (clicked === undefined) return next;
  const isOn = !ids.has(clicked.id);
  const range = rows.slice(Math.min(from, to), Math.max(from, to) + 1).filter(isSelectable);
  for (const { id } of range) {
    if (isOn) next.add(id);
    else next.delete(id);
  }
  return next;
}
