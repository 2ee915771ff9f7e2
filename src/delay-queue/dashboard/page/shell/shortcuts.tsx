import { useRef } from 'preact/hooks';
import { words } from '../words/language.js';
import { KEYS } from './keyboard.js';

const ID = 'shortcuts';

export function openShortcuts(): void {
  const dialog = document.querySelector<HTMLDialogElement>(`#${ID}`);
  if (dialog && !dialog.open) dialog.showModal();
}

/** The list that `?` opens. */
export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  const { shortcuts, keys, close } = words.value;
  return (
    <dialog id={ID} class="dialog narrow" ref={dialog} aria-labelledby="shortcuts-title">
      <header class="dialog-head">
        <h2 id="shortcuts-title">{shortcuts}</h2>
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          {close}
        </button>
      </header>
      <dl class="keys">
        {KEYS.map(({ does, pressed }) => (
          <div key={does}>
            <dt>
              {pressed.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{keys[does]}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
