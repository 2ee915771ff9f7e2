import { signal } from '@preact/signals';
import type { OperationAction, Which } from '../../contract.js';
import type { ChangeAction } from '../words/acting-en.js';

/** What the open dialog asks about. */
export type Asked =
  | { action: ChangeAction; which: Which; onAccepted?: (() => void) | undefined }
  | { action: 'pause' | 'resume'; name: string; group: string | null }
  | { action: 'create' };

/** `null`: no dialog is open. */
export const asked = signal<Asked | null>(null);

/** They take away. */
export const isDanger = (action: OperationAction): boolean =>
  ['cancel', 'abort', 'discard', 'erase'].includes(action);

/** When what had the focus is gone, the heading of the view gets it, not the top of the page. */
export function keepFocus(): void {
  if (document.activeElement !== document.body && document.activeElement !== null) return;
  document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true });
}
