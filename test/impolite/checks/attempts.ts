import { isRerun } from '../record.js';
import type { Check } from './facts.js';

/** What a transactional handler does happens together with the removal of its delay, or not at all. */
export const checkEffects: Check = function* ({ record, ledger, changes, isCommitted }) {
  for (const transaction of record.transactions) {
    const { attempt, xid, no, who } = transaction;
    if (attempt === undefined) continue;
    const mine = ledger.filter(({ writer }) => writer === String(no));
    const outside = mine.filter((row) => row.xid !== xid);
    if (outside.length > 0) {
      yield `effect outside: ${outside.length} rows of ${who} (transaction ${no}) were committed beside its transaction`;
    }
    const tokens = new Set(
      record.told
        .filter((told) => told.transaction === transaction)
        .flatMap((told) => told.tokens.filter((token) => !isRerun(told, token))),
    );
    const strays = changes.filter(
      (its) => its.token && its.op === 'insert' && tokens.has(its.token) && its.xid !== xid,
    );
    for (const { token } of strays) {
      yield `effect outside: ${who} (transaction ${no}) scheduled ${token} beside its transaction`;
    }
    if (!isCommitted(xid)) continue;
    const isDone = changes.some(
      ({ op, id, xid: its }) => its === xid && id === attempt.id && op !== 'insert',
    );
    if (!isDone)
      yield `effect outside: ${who} (transaction ${no}) was committed, and its delay is not done`;
  }
};

/** `completed` is said of what is done, and of nothing else. */
export const checkCompleted: Check = function* ({
  record,
  completed,
  changes,
  history,
  isCommitted,
}) {
  for (const { id, name, attempt } of completed) {
    const its = record.transactions.filter(
      ({ attempt: call }) => call?.id === id && call.attempt === attempt,
    );
    const isDone = its.length === 0 || its.some(({ xid }) => isCommitted(xid));
    const isGone = changes.some((change) => change.id === id && change.op === 'delete');
    if (!isDone || !isGone) yield `false completed: attempt ${attempt} of ${name} ${id}`;
  }
  for (const { id, name, state } of history) {
    if (state !== 'completed') continue;
    const calls = record.handlerCalls.filter((call) => call.id === id);
    if (calls.length === 0 && !name.endsWith('sentinel')) {
      yield `false completed: ${name} ${id} without a call of its handler`;
    }
  }
};

/** An attempt counts when its handler was called, and no delay is given up without that. */
export const checkCounted: Check = function* ({ record, rows, history }) {
  const calls = new Map<string, number>();
  for (const { id } of record.handlerCalls) calls.set(id, (calls.get(id) ?? 0) + 1);
  for (const { id, name, attempts, overdue_ms } of rows) {
    const called = calls.get(id) ?? 0;
    if (Number(attempts) <= called) continue;
    const state = overdue_ms === null ? 'dead' : 'waiting';
    yield `attempt without a call: ${name} ${id} is ${state} after ${attempts} attempts, its handler was called ${called} times`;
  }
  for (const { id, name, attempts, state } of history) {
    const called = calls.get(id) ?? 0;
    if (name.endsWith('sentinel') || Number(attempts) <= called) continue;
    yield `attempt without a call: ${name} ${id} ${state} after ${attempts} attempts, its handler was called ${called} times`;
  }
};

/** Cancelled is cancelled. */
export const checkNeverAgain: Check = function* ({ record, stands }) {
  for (const { call, answers, transaction, scope, answeredAt } of record.told) {
    const [answer] = answers ?? [];
    if (call.verb !== 'cancel' || answer?.verdict !== 'cancelled') continue;
    if (transaction?.isMangled) continue;
    if (transaction && (answeredAt > transaction.overAt || !stands(transaction, scope))) continue;
    const from = transaction ? transaction.overAt : answeredAt;
    const again = record.handlerCalls.find(
      ({ id, calledAt }) => id === answer.id && calledAt > from,
    );
    if (again) yield `ran after cancelled: ${again.name} ${again.id}, attempt ${again.attempt}`;
  }
};
