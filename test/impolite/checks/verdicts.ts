import { isRerun, type Told } from '../record.js';
import type { Check, Facts } from './facts.js';

type Answer = NonNullable<Told['answers']>[number];

/** Verdicts after which the new payload stands in the table. */
const WRITES: ReadonlySet<string> = new Set(['scheduled', 'replaced']);

/** Every answer is true of what Postgres has committed. */
export const checkVerdicts: Check = function* (facts) {
  for (const told of facts.record.told) {
    const { transaction, scope, answers, answeredAt } = told;
    yield* whatWasWrittenElsewhere(told, facts);
    if (answers === undefined) {
      yield* whatWasRefused(told, facts);
      continue;
    }
    // A branch that was left behind: its transaction was over, and so was its sense.
    if (transaction && (transaction.isMangled || answeredAt > transaction.overAt)) continue;
    const stands = transaction === undefined || facts.stands(transaction, scope);
    for (const [index, answer] of answers.entries()) {
      const fault = faultOf(told, answer, index, stands, facts);
      if (fault) yield `false verdict: ${nameOf(told)} ${fault}`;
    }
  }
};

const nameOf = ({ no, who, call, transaction }: Told): string =>
  `call ${no} of ${who}${transaction ? ` in transaction ${transaction.no}` : ''} (${call.verb})`;

/** A call writes in the transaction that it names, or not at all, whatever it is told. */
function* whatWasWrittenElsewhere(told: Told, { changes }: Facts): Iterable<string> {
  const { transaction, tokens } = told;
  if (transaction?.xid === undefined || transaction.isMangled) return;
  for (const { token, was_token, xid } of changes) {
    if (token === null || token === was_token || !tokens.includes(token)) continue;
    // Without an answer it may be one that is kept.
    if (told.answers === undefined || isRerun(told, token)) continue;
    if (xid !== transaction.xid) {
      yield `effect outside: ${nameOf(told)} wrote ${token} in transaction ${xid} of Postgres`;
    }
  }
}

function* whatWasRefused(told: Told, { changes, record }: Facts): Iterable<string> {
  // Of what broke down on the way, nobody knows.
  if ((told.error as { code?: unknown } | undefined)?.code !== 'DELAY_CONFLICT') return;
  const xid = told.transaction?.xid;
  const own = changes.filter((change) => !xid || change.xid === xid);
  for (const token of told.tokens) {
    const came = own.filter((its) => its.token === token && its.was_token !== token);
    // What scheduleMany had inserted when it met a conflict, it takes back.
    const went = own.filter(
      (its) => its.was_token === token && (its.op === 'delete' || its.token !== token),
    );
    if (came.length > went.length) {
      yield `false verdict: ${nameOf(told)} was refused, and ${token} was written`;
    }
    for (const other of record.told) {
      const shared = other.answers?.find(({ id }) => came.some((its) => id === its.id));
      // Somebody was told of what never was.
      if (shared) yield `false verdict: ${nameOf(other)} answered ${shared.verdict} of ${token}`;
    }
  }
}

function faultOf(
  told: Told,
  answer: Answer,
  index: number,
  stands: boolean,
  facts: Facts,
): string | undefined {
  const { verdict, id, dueAt } = answer;
  const xid = told.transaction?.xid;
  const own = facts.changes.filter((change) => xid === undefined || change.xid === xid);
  const token = told.tokens[index];
  if (token !== undefined) {
    if (verdict === 'rerun') return undefined;
    const times = own.filter((its) => its.token === token && its.was_token !== token).length;
    const expected = stands && WRITES.has(verdict) ? 1 : 0;
    return times === expected
      ? undefined
      : `answered ${verdict}, and ${token} was written ${times} times instead of ${expected}`;
  }
  if (verdict === 'cancelled') {
    const times = own.filter((its) => its.op === 'delete' && its.id === id).length;
    // One that was undone may have been followed by one that was not, and an attempt ends with a removal,
    // unless its row had moved on before.
    const isOwn = told.transaction?.attempt?.id === id;
    const isEnded = isOwn && !isAnsweredElsewhere(told, id, MOVES, facts);
    const isGone = stands || isEnded || isAnsweredElsewhere(told, id, CANCELS, facts);
    const expected = isGone ? 1 : 0;
    if (isOwn && !facts.isCommitted(xid)) return undefined;
    // Its run has ended, and what was kept of its key was no delay yet: that was cancelled.
    if (times === 0 && wasKeptBeside(id, facts)) return undefined;
    return times === expected
      ? undefined
      : `answered cancelled, and delay ${id} was removed ${times} times instead of ${expected}`;
  }
  if (verdict === 'rescheduled') {
    const due = String(dueAt?.getTime());
    const times = own.filter((its) => its.id === id && its.op === 'update' && its.due_ms === due);
    return times.length > 0 || !stands
      ? undefined
      : `answered rescheduled, and delay ${id} was moved ${times.length} times`;
  }
  return faultOfNothing(told, verdict, facts);
}

const wasKeptBeside = (id: string | undefined, { record }: Facts): boolean =>
  record.told.some(({ answers }) =>
    answers?.some((answer) => answer.verdict === 'rerun' && answer.id === id),
  );

const CANCELS: ReadonlySet<string> = new Set(['cancelled']);
const MOVES: ReadonlySet<string> = new Set(['rescheduled', 'scheduled']);

/** Whether another call of the same transaction was told that of the delay, and its answer stands. */
const isAnsweredElsewhere = (
  told: Told,
  id: string | undefined,
  verdicts: ReadonlySet<string>,
  { record, stands }: Facts,
) =>
  record.told.some(
    ({ transaction, scope, answers }) =>
      transaction !== undefined &&
      transaction === told.transaction &&
      stands(transaction, scope) &&
      answers?.some((answer) => verdicts.has(answer.verdict) && answer.id === id),
  );

/** Of answers that say why nothing was written. */
function faultOfNothing(
  told: Told,
  verdict: string,
  { changes, record }: Facts,
): string | undefined {
  if (!('slot' in told.call) || told.call.verb === 'find') return undefined;
  const { name, key } = told.call.slot;
  const isIt = (its: { name: string; key: string | null }): boolean =>
    its.name === name && its.key === key;
  const about = changes.filter(isIt);
  if (verdict === 'running' && !about.some(({ leased_by }) => leased_by !== null)) {
    return `answered running, and no attempt of ${name} ${key} was ever made`;
  }
  // Nobody else's business in the same transaction, which may have removed it before.
  const alone = record.told.every(
    (other) =>
      other === told ||
      other.transaction === undefined ||
      other.transaction !== told.transaction ||
      !('slot' in other.call && isIt({ ...other.call.slot })),
  );
  const [first, ...later] = about;
  const isBefore = first?.op === 'insert' && first.token?.startsWith('b');
  const stood = isBefore && told.askedAt > record.placedAt && later.length === 0;
  if (verdict === 'absent' && told.call.verb !== 'retryDead' && alone && stood) {
    return `answered absent, and ${name} ${key} stood there all the time`;
  }
  return undefined;
}
