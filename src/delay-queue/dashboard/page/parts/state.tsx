import type { DelayLine } from '../../contract.js';
import type { SearchState } from '../../search.table.js';
import { words } from '../words/language.js';
import { span, wholeSpan } from '../words/written.js';
import { nowSeconds } from './when.js';

export function StatePill({ state }: { state: SearchState }) {
  return <span class={`pill state-${state}`}>{words.value.states[state]}</span>;
}

/** What a delay waits for beyond its due time, or how late a completed one was. */
export function WaitsFor({ delay }: { delay: DelayLine }) {
  const text = waitText(delay);
  return text === '' ? null : <span class={`waits ${delay.waitsFor?.what ?? ''}`}>{text}</span>;
}

function waitText({ waitsFor, state, dueAt, latenessMs }: DelayLine): string {
  const said = words.value;
  if (waitsFor === null) {
    return state === 'completed' && latenessMs !== null ? said.late(span(said, latenessMs)) : '';
  }
  const { what, node, since, until } = waitsFor;
  const nowMs = nowSeconds.value;
  const forMs = nowMs - Date.parse(since ?? dueAt);
  const inMs = until ? Date.parse(until) - nowMs : 0;
  switch (what) {
    case 'due':
      return '';
    case 'retry':
      return inMs > 0 ? said.retryIn(wholeSpan(said, inMs)) : '';
    case 'attempt':
      return `${node ? said.runsOn(node) : ''} ${since ? wholeSpan(said, forMs) : ''}`.trim();
    default:
      return said.waitsFor[what] + (forMs >= 1_000 ? `, ${wholeSpan(said, forMs)}` : '');
  }
}
