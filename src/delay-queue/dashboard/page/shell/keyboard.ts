import { go, hrefOf } from '../address/address.js';
import { reload } from '../api/answer.js';

/** What keys do, in the order of the list that `?` opens. `g o` is `g`, then `o`. */
export const KEYS = [
  { does: 'search', pressed: '/' },
  { does: 'nextRow', pressed: 'j' },
  { does: 'previousRow', pressed: 'k' },
  { does: 'open', pressed: 'Enter' },
  { does: 'select', pressed: 'x' },
  { does: 'reload', pressed: 'r' },
  { does: 'overview', pressed: 'g o' },
  { does: 'delays', pressed: 'g s' },
  { does: 'dead', pressed: 'g d' },
  { does: 'operations', pressed: 'g a' },
  { does: 'shortcuts', pressed: '?' },
] as const;

/** So long after `g` the next key belongs to it. */
const SEQUENCE_MS = 1_000;

/** @param openShortcuts what `?` does */
export function watchKeyboard(openShortcuts: () => void): void {
  let first = { key: '', at: 0 };
  const actions: Record<string, () => void> = {
    '/': focusSearch,
    j: () => focusRow(1),
    k: () => focusRow(-1),
    x: selectRow,
    r: reload,
    'g o': () => go(hrefOf('overview')),
    'g s': () => go(hrefOf('search')),
    'g d': () => go(hrefOf('dead')),
    'g a': () => go(hrefOf('operations')),
    '?': openShortcuts,
  };
  document.addEventListener('keydown', (event) => {
    if (isForOthers(event)) return;
    const isSecond = first.key === 'g' && event.timeStamp - first.at < SEQUENCE_MS;
    const pressed = isSecond ? `g ${event.key}` : event.key;
    first = { key: isSecond ? '' : event.key, at: event.timeStamp };
    const action = actions[pressed];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}

const FIELDS = 'input:not([type=checkbox]), textarea, select';

/** Of a field, of the browser, or of an open dialog. */
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

const rowOf = (element: Element | null): Element | null => element?.closest('[data-row]') ?? null;

function focusRow(by: 1 | -1): void {
  const rows = [...document.querySelectorAll('[data-row]')];
  const current = rowOf(document.activeElement);
  const at = current === null ? -1 : rows.indexOf(current);
  const next = at === -1 ? rows.at(by === 1 ? 0 : -1) : rows[at + by];
  const link = next?.querySelector<HTMLElement>('.row-link');
  link?.focus();
  link?.scrollIntoView({ block: 'nearest' });
}

function selectRow(): void {
  rowOf(document.activeElement)?.querySelector<HTMLElement>('input[type=checkbox]')?.click();
}
