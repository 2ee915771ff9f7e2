import { useEffect, useRef } from 'preact/hooks';
import { keepFocus } from '../address/address.js';
import { type Asked, asked } from './asked.js';
import { ChangeForm } from './change-form.js';
import { CreateForm } from './create-form.js';
import { PauseForm, ResumeForm } from './pause-form.js';

export const TITLE_ID = 'act-title';

/**
 * The dialog for every action. It is a sibling of the views, so that a refresh does not close it; the
 * browser returns the focus to what opened it.
 */
export function ActDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const its = asked.value;
  useEffect(() => {
    if (its !== null && !dialog.current?.open) dialog.current?.showModal();
    if (its === null && dialog.current?.open) dialog.current.close();
  }, [its]);
  return (
    <dialog
      class="dialog act"
      ref={dialog}
      aria-labelledby={TITLE_ID}
      onClose={() => {
        asked.value = null;
        keepFocus();
      }}
    >
      {its && <ActForm key={JSON.stringify(its)} its={its} />}
    </dialog>
  );
}

function ActForm({ its }: { its: Asked }) {
  switch (its.action) {
    case 'create':
      return <CreateForm />;
    case 'pause':
      return <PauseForm name={its.name} />;
    case 'resume':
      return <ResumeForm name={its.name} group={its.group} />;
    default:
      return <ChangeForm {...its} onAccepted={its.onAccepted} />;
  }
}
