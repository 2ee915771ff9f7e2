import { useRef } from 'preact/hooks';
import { go, viewHref } from '../address/address.js';
import { reload } from '../api/answer.js';
import { words } from '../words/language.js';
import type { Words } from '../words/words.js';

/** What keys do, in the order of the list that `?` opens. `g o` is `g`, then `o`. */
const KEYS: readonly { does: (said: Words) => string; pressed: string; act?: () => void }[] = [
  { does: (said) => said.search, pressed: '/', act: focusSearch },
  { does: (said) => said.keys.nextRow, pressed: 'j', act: () => focusRow(1) },
  { does: (said) => said.keys.previousRow, pressed: 'k', act: () => focusRow(-1) },
  // What the browser does with a focused link.
  { does: (said) => said.keys.open, pressed: 'Enter' },
  { does: (said) => said.keys.select, pressed: 'x', act: selectRow },
  { does: (said) => said.found.reload, pressed: 'r', act: reload },
  { does: (said) => said.tabs.overview, pressed: 'g o', act: () => go(viewHref('overview')) },
  { does: (said) => said.tabs.search, pressed: 'g s', act: () => go(viewHref('search')) },
  { does: (said) => said.tabs.dead, pressed: 'g d', act: () => go(viewHref('dead')) },
  { does: (said) => said.tabs.operations, pressed: 'g a', act: () => go(viewHref('operations')) },
  { does: (said) => said.keys.shortcuts, pressed: '?', act: openShortcuts },
];

/** How long after `g` the next key still counts. */
const SEQUENCE_MS = 1_000;

export function watchKeyboard(): void {
  let first = { key: '', at: 0 };
  document.addEventListener('keydown', (event) => {
    if (isForOthers(event)) return;
    const isSecond = first.key === 'g' && event.timeStamp - first.at < SEQUENCE_MS;
    const its = isSecond ? `g ${event.key}` : event.key;
    first = { key: isSecond ? '' : event.key, at: event.timeStamp };
    const act = KEYS.find(({ pressed }) => pressed === its)?.act;
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

const FIELDS = 'input:not([type=checkbox]), textarea, select';

/** Keys that belong to a field, the browser or an open dialog. */
const isForOthers = ({ target, altKey, ctrlKey, metaKey }: KeyboardEvent): boolean =>
  altKey ||
  ctrlKey ||
  metaKey ||
  (target instanceof Element && target.closest(FIELDS) !== null) ||
  document.querySelector('dialog[open]') !== null;

function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('#search-field');
  field?.focus();
  field?.select();
}

const enclosingRow = (element: Element | null): Element | null =>
  element?.closest('[data-row]') ?? null;

function focusRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll('[data-row]')];
  const current = enclosingRow(document.activeElement);
  const at = current === null ? -1 : rows.indexOf(current);
  const next = at === -1 ? rows.at(by === 1 ? 0 : -1) : rows[at + by];
  const link = next?.querySelector<HTMLElement>('.row-link');
  link?.focus();
  link?.scrollIntoView({ block: 'nearest' });
}

function selectRow(): void {
  enclosingRow(document.activeElement)?.querySelector<HTMLElement>('input[type=checkbox]')?.click();
}

export function openShortcuts(): void {
  const dialog = document.querySelector<HTMLDialogElement>('#shortcuts');
  if (dialog && !dialog.open) dialog.showModal();
}

export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  const said = words.value;
  return (
    <dialog id="shortcuts" class="dialog narrow" ref={dialog} aria-labelledby="shortcuts-title">
      <header class="dialog-head">
        <h2 id="shortcuts-title">{said.shortcuts}</h2>
        <button type="button" class="button" onClick={() => dialog.current?.close()}>
          {said.close}
        </button>
      </header>
      <dl class="keys">
        {KEYS.map(({ does, pressed }) => (
          <div key={pressed}>
            <dt>
              {pressed.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does(said)}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
