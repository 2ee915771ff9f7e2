import { isUnreadable } from '../../store/tables/row-rules.js';
import type { ClaimedRow } from '../../store/wire/attempt-rows.js';

const FIRST_MS = new Date('0001-01-01T00:00:00Z').getTime();
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** What a row holds that no handler may get, though a claim could read it; undefined: nothing. */
export function unreadableIn(row: ClaimedRow): string | undefined {
  if (!isInstant(row.due_ms)) return isUnreadable('due_at');
  if (!isInstant(row.created_ms)) return isUnreadable('created_at');
  if (row.attempts < 1) return isUnreadable('attempts');
  return row.extras === null ? undefined : unreadableExtras(row.extras);
}

/** @param text as a claim answers it */
function unreadableExtras(text: string): string | undefined {
  const { group, headers, repeat } = JSON.parse(text) as Record<string, unknown>;
  if (group === '') return isUnreadable('group_id');
  if (headers !== null && !isObject(headers)) return isUnreadable('headers');
  const values = headers === null ? [] : Object.values(headers);
  if (values.some((value) => typeof value !== 'string')) return isUnreadable('headers');
  return repeat === null || isObject(repeat) ? undefined : isUnreadable('repeat');
}

const isInstant = (ms: number): boolean => ms >= FIRST_MS && ms < LAST_MS + 1;

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
