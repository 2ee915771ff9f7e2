import { may } from '../api/session.js';
import { words } from '../words/language.js';
import { asked } from './asked.js';

/** In the row of a name, shown with the pointer or the focus there. */
export function PauseButton({ name }: { name: string }) {
  if (!may('pause')) return null;
  const said = words.value.acting;
  return (
    <button
      type="button"
      class="link row-act"
      aria-haspopup="dialog"
      aria-label={said.pauseName(name)}
      onClick={() => {
        asked.value = { action: 'pause', name, group: null };
      }}
    >
      {said.pause}…
    </button>
  );
}

export function ResumeButton({ name, group }: { name: string; group: string | null }) {
  if (!may('pause')) return null;
  const said = words.value.acting;
  return (
    <button
      type="button"
      class="button"
      aria-haspopup="dialog"
      aria-label={said.resumeName(group === null ? name : `${name} · ${group}`)}
      onClick={() => {
        asked.value = { action: 'resume', name, group };
      }}
    >
      {said.resume}…
    </button>
  );
}
