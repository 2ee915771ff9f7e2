import type { SearchFilter } from '../../contract.js';
import { may, session } from '../api/session.js';
import { words } from '../words/language.js';
import { asked } from './asked.js';

/** For all that belongs to one person: what lives, what has ended, and what operations say of it. */
export function EraseButton({ filter }: { filter: SearchFilter | null }) {
  const isLimited = session.value?.names !== null || session.value.groups !== null;
  if (filter === null || isLimited || !may('erase')) return null;
  return (
    <button
      type="button"
      class="button danger"
      aria-haspopup="dialog"
      onClick={() => {
        asked.value = { action: 'erase', which: { filter } };
      }}
    >
      {words.value.actions.erase}…
    </button>
  );
}
