import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import type { DelayLine } from '../../contract.js';
import { isSelectable, toggledRange } from './toggled-range.js';

export type Selection = ReturnType<typeof useSelection>;

/** Which rows of a page are selected, or all that match its filter, on whatever page. */
export function useSelection(delays: readonly DelayLine[]) {
  const ids = useSignal<ReadonlySet<string>>(new Set());
  const isAllMatching = useSignal(false);
  const lastAt = useRef(0);
  const select = (next: ReadonlySet<string>): void => {
    isAllMatching.value = false;
    ids.value = next;
  };
  return {
    isAllMatching: isAllMatching.value,
    has: (delay: DelayLine): boolean =>
      isSelectable(delay) && (isAllMatching.value || ids.value.has(delay.id)),
    /** @param toHere with those from the row of the last click */
    toggle: (at: number, toHere: boolean): void => {
      select(toggledRange(ids.value, delays, toHere ? lastAt.current : at, at));
      lastAt.current = at;
    },
    togglePage: (): void => {
      const all = delays.filter(isSelectable);
      const isWhole = isAllMatching.value || all.every(({ id }) => ids.value.has(id));
      select(new Set(isWhole ? [] : all.map(({ id }) => id)));
    },
    selectAllMatching: (): void => {
      isAllMatching.value = true;
    },
    clear: (): void => select(new Set()),
  };
}
