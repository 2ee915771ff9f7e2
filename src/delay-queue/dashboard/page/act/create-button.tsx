import { may } from '../api/session.js';
import { words } from '../words/language.js';
import { asked } from './asked.js';

export function CreateButton() {
  if (!may('create')) return null;
  return (
    <button
      type="button"
      class="button"
      aria-haspopup="dialog"
      onClick={() => {
        asked.value = { action: 'create' };
      }}
    >
      {words.value.acting.newDelay}
    </button>
  );
}
