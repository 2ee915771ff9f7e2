import { useEffect, useRef } from 'preact/hooks';
import type { DelayLine, SearchState, Which } from '../../contract.js';
import { may } from '../api/session.js';
import type { ChangeAction } from '../words/acting-en.js';
import { words } from '../words/language.js';
import { asked, isDanger, keepFocus } from './asked.js';

const LIVE: readonly SearchState[] = ['scheduled', 'running', 'retrying', 'dead'];

/** In the order of their buttons: the states that each is for. */
const ACTIONS: readonly { action: ChangeAction; states: readonly SearchState[] }[] = [
  { action: 'retry', states: ['dead'] },
  { action: 'runNow', states: ['scheduled', 'retrying'] },
  { action: 'reschedule', states: ['scheduled', 'retrying'] },
  { action: 'cancel', states: ['scheduled', 'retrying'] },
  { action: 'abort', states: ['running'] },
  { action: 'discard', states: ['dead'] },
];

export interface ActButtonsProps {
  which: Which;
  /** Those of them that are shown. */
  delays: readonly DelayLine[];
  onAccepted?: () => void;
}

/** What the viewer may do with these delays. Without a right, a button is absent. */
export function ActButtons({ which, delays, onAccepted }: ActButtonsProps) {
  const row = useRef<HTMLDivElement>(null);
  const said = words.value;
  const states = which.filter ? (which.filter.state ?? LIVE) : delays.map(({ state }) => state);
  const offered = ACTIONS.filter(
    ({ action, states: its }) => may(action) && its.some((state) => states.includes(state)),
  ).map(({ action }) => action);
  useFocusKept(row, offered.join());
  if (offered.length === 0) return null;
  return (
    <div class="acts" role="group" aria-label={said.acting.buttons} ref={row}>
      {offered.map((action) => (
        <button
          key={action}
          type="button"
          class={`button ${isDanger(action) ? 'danger' : 'plain'}`}
          aria-haspopup="dialog"
          onClick={() => {
            asked.value = { action, which, onAccepted };
          }}
        >
          {said.actions[action]}…
        </button>
      ))}
    </div>
  );
}

/** A button may go while it has the focus, since a delay changes its state. */
function useFocusKept(row: { current: HTMLElement | null }, offered: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) keepFocus();
    isFirst.current = false;
  }, [offered]);
  useEffect(
    () => () => {
      if (!row.current?.contains(document.activeElement)) return;
      document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
    },
    [],
  );
}
