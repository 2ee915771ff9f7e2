import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type DelayLine, rightFor, type Which } from '../../contract.js';
import { LIVE_STATES, type SearchFilter, type SearchState } from '../../search.table.js';
import { may, session } from '../api/session.js';
import type { ChangeAction } from '../words/acting.js';
import { words } from '../words/language.js';
import { focusHeading, keepFocus } from '../address/address.js';
import { type Asked, asked, isDanger } from './asked.js';

/** The states that each action applies to, in the order of the buttons. */
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
  const states = which.filter
    ? (which.filter.state ?? LIVE_STATES)
    : delays.map(({ state }) => state);
  const offered = ACTIONS.filter(
    ({ action, states: its }) => may(action) && its.some((state) => states.includes(state)),
  ).map(({ action }) => action);
  useFocusKept(row, offered.join());
  if (offered.length === 0) return null;
  return (
    <div class="acts" role="group" aria-label={said.acting.buttons} ref={row}>
      {offered.map((action) => (
        <AskButton key={action} asks={{ action, which, onAccepted }}>
          {said.actions[action]}
        </AskButton>
      ))}
    </div>
  );
}

/** A button may disappear while it has the focus, because the delay changed state. */
function useFocusKept(row: { current: HTMLElement | null }, offered: string): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) keepFocus();
    isFirst.current = false;
  }, [offered]);
  useEffect(
    () => () => {
      if (!row.current?.contains(document.activeElement)) return;
      focusHeading();
    },
    [],
  );
}

interface AskButtonProps {
  asks: Asked;
  class?: string;
  label?: string;
  children: ComponentChildren;
}

/** Opens the dialog of an action. Without the right to it, it is absent. */
export function AskButton({ asks, label, children, ...its }: AskButtonProps) {
  if (!may(rightFor(asks.action))) return null;
  return (
    <button
      type="button"
      class={its.class ?? `button ${isDanger(asks.action) ? 'danger' : 'plain'}`}
      aria-haspopup="dialog"
      aria-label={label}
      onClick={() => {
        asked.value = asks;
      }}
    >
      {children}…
    </button>
  );
}

/** Erases everything about one person: live delays, ended ones, and what operations recorded about them. */
export function EraseButton({ filter }: { filter: SearchFilter | null }) {
  const isLimited = session.value?.names !== null || session.value.groups !== null;
  if (filter === null || isLimited) return null;
  return (
    <AskButton asks={{ action: 'erase', which: { filter } }}>{words.value.actions.erase}</AskButton>
  );
}
