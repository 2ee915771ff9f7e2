import type { DelayLine } from '../../contract.js';
import { words } from '../words/language.js';
import { span, wholeSpan } from '../words/written.js';
import { nowSeconds } from './when.js';

/** What a delay waits for, if that is not just its time; how late a completed one was. */
export function WaitsFor({ delay }: { delay: DelayLine }) {
  const text = textOf(delay);
  return text === '' ? null : <span class={`waits ${delay.waitsFor?.what ?? ''}`}>{text}</span>;
}

function textOf({ waitsFor, state, dueAt, latenessMs }: DelayLine): string {
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
