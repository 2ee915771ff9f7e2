import { isUndone } from '../record.js';
import type { Check } from './facts.js';

/** What a caller wrote for himself stands exactly when the transaction it landed in was committed. */
export const checkWrites: Check = function* ({ record, ledger, isCommitted }) {
  const found = new Map<string, number>();
  for (const { token } of ledger) found.set(token, (found.get(token) ?? 0) + 1);
  for (const { token, xid, transaction, scope } of record.writes) {
    if (xid === undefined || transaction?.isMangled) continue;
    const expected = isCommitted(xid) && !isUndone(scope) ? 1 : 0;
    const times = found.get(token) ?? 0;
    if (times === expected) continue;
    const who = transaction ? `transaction ${transaction.no} of ${transaction.who}` : 'alone';
    yield `lost write: ${token} (${who}) stands ${times} times instead of ${expected}`;
  }
};

/** Whoever was told that his transaction committed is not told so in vain. */
export const checkCommits: Check = function* ({ record, isCommitted }) {
  for (const transaction of record.transactions) {
    const { told, xid, attempt, no, who } = transaction;
    if (attempt || told !== 'committed' || isCommitted(xid)) continue;
    // Wherever the library answered a call, whatever it answered.
    const isOurs = record.told.some(
      (its) => its.transaction === transaction && its.answers !== undefined,
    );
    if (isOurs)
      yield `false commit: transaction ${no} of ${who} was rolled back, and nobody said so`;
  }
};
