import type { Wish } from '../program.js';
import { wishesOf } from '../player.js';
import type { Told } from '../record.js';
import type { Check, Facts } from './facts.js';

/** Verdicts of calls that leave the key with something else to do. */
const CHANGES: ReadonlySet<string> = new Set(['scheduled', 'replaced', 'kept', 'rerun']);

/**
 * What was accepted while its key ran is begun with, or waits, unless a later call about that key took its place: the last
 * change of a key is never lost.
 */
export const checkReruns: Check = function* (facts) {
  const { record, rows, kept } = facts;
  const begun = new Set(record.handlerCalls.map(({ token }) => token));
  const waits = new Set(rows.map(({ token }) => token));
  for (const told of record.told) {
    if (!stands(told, facts)) continue;
    for (const [index, wish] of wishesOf(told.call).entries()) {
      const token = told.tokens[index];
      if (told.answers?.[index]?.verdict !== 'rerun' || token === undefined) continue;
      if (begun.has(token) || waits.has(token) || kept.has(token)) continue;
      if (record.told.some((other) => other !== told && mayTakePlace(other, wish, told))) continue;
      yield `lost rerun: ${token} of ${wish.name} ${wish.key} (call ${told.no} of ${told.who}) never began`;
    }
  }
};

/** Its answer was given within its transaction, and that one was committed. */
function stands({ transaction, scope, answers, answeredAt }: Told, facts: Facts): boolean {
  if (answers === undefined) return false;
  if (transaction === undefined) return true;
  if (transaction.isMangled || answeredAt > transaction.overAt) return false;
  return facts.stands(transaction, scope);
}

/** Whether it is about the same key, and not over before that call began; what broke down may have written all the same. */
function mayTakePlace(other: Told, { name, key }: Wish, { askedAt }: Told): boolean {
  const overAt = other.transaction?.overAt ?? other.answeredAt;
  if (Math.max(overAt, other.answeredAt) < askedAt) return false;
  if (other.call.verb === 'cancel') {
    const { slot } = other.call;
    return slot.name === name && slot.key === key && other.answers?.[0]?.verdict !== 'absent';
  }
  return wishesOf(other.call).some(
    (wish, index) =>
      wish.name === name &&
      wish.key === key &&
      (other.answers === undefined || CHANGES.has(other.answers[index]?.verdict ?? '')),
  );
}
