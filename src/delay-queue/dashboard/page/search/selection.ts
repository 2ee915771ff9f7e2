import { useSignal, type Signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { DelayLine } from '../../contract.js';

/** What has ended cannot be changed. */
export const isSelectable = ({ endedAt }: DelayLine): boolean => endedAt === null;

/** Which rows of a page are selected, or all that match its filter, on whatever page. */
export interface Selection {
  ids: ReadonlySet<string>;
  isAllMatching: boolean;
  has: (delay: DelayLine) => boolean;
  /** @param toHere with those from the row of the last click */
  toggle: (at: number, toHere: boolean) => void;
  togglePage: () => void;
  selectAllMatching: () => void;
  clear: () => void;
}

export function useSelection(delays: readonly DelayLine[]): Selection {
  const ids = useSignal<ReadonlySet<string>>(new Set());
  const isAllMatching = useSignal(false);
  const lastAt = useRef(0);
  const select = (next: ReadonlySet<string>): void => {
    isAllMatching.value = false;
    ids.value = next;
  };
  return {
    ids: ids.value,
    isAllMatching: isAllMatching.value,
    has: (delay) => isSelectable(delay) && (isAllMatching.value || ids.value.has(delay.id)),
    toggle: (at, toHere) => {
      select(toggled(ids, delays, toHere ? lastAt.current : at, at));
      lastAt.current = at;
    },
    togglePage: () => {
      const all = delays.filter(isSelectable);
      const isWhole = isAllMatching.value || all.every(({ id }) => ids.value.has(id));
      select(new Set(isWhole ? [] : all.map(({ id }) => id)));
    },
    selectAllMatching: () => {
      isAllMatching.value = true;
    },
    clear: () => select(new Set()),
  };
}

/** The row that was clicked says what becomes of the others. */
function toggled(
  ids: Signal<ReadonlySet<string>>,
  delays: readonly DelayLine[],
  from: number,
  to: number,
): Set<string> {
  const next = new Set(ids.value);
  const isOn = !next.has(delays[to]!.id);
  const range = delays.slice(Math.min(from, to), Math.max(from, to) + 1).filter(isSelectable);
  for (const { id } of range) {
    if (isOn) next.add(id);
    else next.delete(id);
  }
  return next;
}
