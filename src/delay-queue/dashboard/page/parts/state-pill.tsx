import type { SearchState } from '../../contract.js';
import { words } from '../words/language.js';

export function StatePill({ state }: { state: SearchState }) {
  return <span class={`pill state-${state}`}>{words.value.states[state]}</span>;
}
