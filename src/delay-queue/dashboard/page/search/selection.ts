import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { DelayLine } from '../../contract.js';
import { isSelectable, toggledRange } from './toggled-range.js';

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
      select(toggledRange(ids.value, delays, toHere ? lastAt.current : at, at));
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
