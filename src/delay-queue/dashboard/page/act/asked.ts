import { signal } from '@preact/signals';
import type { OperationAction, Which } from '../../contract.js';
import type { ChangeAction } from '../words/acting.js';

/** What the open dialog asks about. */
export type Asked =
  | { action: ChangeAction; which: Which; onAccepted?: (() => void) | undefined }
  | { action: 'pause' | 'resume'; name: string; group: string | null }
  | { action: 'create' };

/** `null`: no dialog is open. */
export const asked = signal<Asked | null>(null);

export const isDanger = (action: OperationAction): boolean =>
  ['cancel', 'abort', 'discard', 'erase'].includes(action);
