import type { Delay } from '../../delay/delay.js';
import type { StoredRepeat } from '../../recurrence/recurrence.js';

/** What few delays have. */
export interface Extras extends Pick<Delay, 'group' | 'headers'> {
  repeat: StoredRepeat | null;
}

/** One for all, which no handler may change. */
const NONE: Extras = { group: null, headers: Object.freeze({}), repeat: null };

/** @param text as a claim answers it */
export function extrasOf(text: string | null): Extras {
  if (text === null) return NONE;
  const { headers, ...extras } = JSON.parse(text) as Omit<Extras, 'headers'> & {
    headers: Extras['headers'] | null;
  };
  return { ...extras, headers: headers ?? {} };
}
