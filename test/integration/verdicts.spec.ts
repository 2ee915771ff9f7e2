import { beforeAll, expect, it } from '@jest/globals';
import type { EntityManager } from 'typeorm';
import { OneNode } from '../support/one-node.js';
import { OtherNode } from '../support/other-node.js';
import { act, ANSWERS, type Answers, NEW_PAYLOAD, type Verb, VERBS } from '../support/verbs.js';
import type { ClaimedRow } from '../support/engine-parts.js';

/** Puts the key into a state; answers the id of its delay. */
type Prepare = (key: string) => Promise<string | null>;

const HOUR_MS = 3_600_000;

const node = new OneNode();
let other: OtherNode;

beforeAll(() => {
  other = new OtherNode(node.dataSource);
});

const waiting: Prepare = async (key) =>
  (await node.delays.schedule('test.a', { n: 1 }, { after: '1h', key, maxAttempts: 3 })).id;
const due: Prepare = async (key) =>
  (await node.delays.schedule('test.a', { n: 1 }, { after: 0, key })).id;

const after =
  (happens: (id: string) => Promise<unknown>): Prepare =>
  async (key) => {
    const id = (await due(key)) as string;
    await happens(id);
    return id;
  };

type Continue = (attempt: OtherNode, claim: ClaimedRow, manager: EntityManager) => Promise<unknown>;

/** A claim of another node is committed; the attempt goes on in a transaction that stays open. */
const goingOn =
  (goesOn: Continue, leaseMs?: number): Prepare =>
  async (key) => {
    const claim = await other.claim((await due(key)) as string, { leaseMs });
    const { manager } = await node.begin();
    await goesOn(new OtherNode(manager), claim, manager);
    return String(claim.id);
  };

/** It writes, and holds nothing of its delay. */
const works: Continue = (_attempt, _claim, manager) =>
  manager.query('CREATE TABLE effect_of_attempt ()');
const removes: Continue = (attempt, claim) => attempt.remove(claim);
const movesOn: Continue = (_attempt, { id }, manager) =>
  manager.query(
    `UPDATE delay_queue.delay
     SET leased_by = NULL, leased_until = NULL, epoch = epoch + 1, wake_at = wake_at + '1 h',
         due_at = due_at + interval '1 h'
     WHERE id = $1`,
    [id],
  );

const STATES: Record<string, { prepare: Prepare; answers: Answers }> = {
  nothing: { prepare: async () => null, answers: ANSWERS.nothing },
  'a delay that waits': { prepare: waiting, answers: ANSWERS.waiting },
  'a delay that is due and not claimed': { prepare: due, answers: ANSWERS.waiting },
  'a delay that waits for its next attempt': {
    prepare: after((id) => other.claimAndFail(id, HOUR_MS)),
    answers: ANSWERS.waiting,
  },
  'a dead letter': {
    prepare: after((id) => other.claimAndFail(id, null)),
    answers: ANSWERS.dead,
  },
  'a live lease': { prepare: after((id) => other.claim(id)), answers: ANSWERS.held },
  'a lease that is over, its node gone': {
    prepare: after((id) => other.claimAndDie(id)),
    answers: ANSWERS.waiting,
  },
  'an attempt whose transaction is open': {
    prepare: goingOn(works),
    answers: ANSWERS.held,
  },
  'an attempt whose transaction is open when its lease is over': {
    prepare: goingOn(works, 0),
    answers: ANSWERS.waiting,
  },
  'an attempt that has removed its row and is about to commit': {
    prepare: goingOn(removes),
    answers: ANSWERS.held,
  },
  'an attempt that has removed its row when its lease is over': {
    prepare: goingOn(removes, 0),
    answers: ANSWERS.held,
  },
  'an attempt that has moved its own row on and goes on': {
    prepare: goingOn(movesOn),
    answers: ANSWERS.held,
  },
  'an attempt that has moved its own row on when its lease is over': {
    prepare: goingOn(movesOn, 0),
    answers: ANSWERS.held,
  },
  'an attempt whose renewal is not committed': {
    prepare: goingOn((attempt, claim) => attempt.store.renew([claim], 60_000), 0),
    answers: ANSWERS.held,
  },
};

const CASES = Object.entries(STATES).flatMap(([state, { prepare, answers }]) =>
  VERBS.map((verb) => ({ state, verb, verdict: answers[verb], prepare })),
);

type Row = Record<string, unknown>;

const rowOf = async (key: string): Promise<Row | undefined> => {
  const [row] = await node.sql<Row>(
    `SELECT id::text, due_at, wake_at, leased_until, leased_by, epoch::int, attempts, max_attempts,
            payload, last_error, created_at
     FROM delay_queue.delay WHERE name = 'test.a' AND key = $1`,
    [key],
  );
  return row;
};

/** What must stand in the table after that verdict; null for nothing. */
function rowAfter(verb: Verb, verdict: string, before: Row | undefined): Row | null {
  if (verdict === 'cancelled' || verdict === 'absent') {
    return verdict === 'absent' ? (before ?? null) : null;
  }
  if (!['rescheduled', 'replaced', 'scheduled'].includes(verdict)) return before ?? null;
  const fresh = { attempts: 0, leased_by: null, leased_until: null, last_error: null };
  if (before === undefined) return { ...fresh, epoch: 0, payload: NEW_PAYLOAD };
  const kept = verb === 'reschedule';
  return {
    ...fresh,
    id: before['id'],
    epoch: Number(before['epoch']) + 1,
    payload: kept ? before['payload'] : NEW_PAYLOAD,
    max_attempts: kept ? before['max_attempts'] : null,
  };
}

/** Who answers while a transaction of an attempt is open has not waited for it. */
it.each(CASES)('$verb meets $state and answers $verdict', async (testCase) => {
  const { state, verb, verdict, prepare } = testCase;
  const key = `${state}/${verb}`;
  const id = await prepare(key);
  const before = await rowOf(key);
  // A caller who rolls back leaves no trace.
  const caller = await node.begin();
  expect((await act(node.delays, verb, key, caller.manager)).verdict).toBe(verdict);
  await caller.rollback();
  expect(await rowOf(key)).toEqual(before);
  expect(await node.delays.history('test.a', key)).toEqual([]);

  const answer = await act(node.delays, verb, key);
  expect(answer.verdict).toBe(verdict);
  const row = await rowOf(key);
  const wanted = rowAfter(verb, verdict, before);
  expect(row === undefined).toBe(wanted === null);
  expect({ ...row }).toMatchObject({ ...wanted });
  const { id: toldId = row?.['id'], dueAt = row?.['due_at'] } = answer;
  expect(toldId).toBe(row?.['id'] ?? (verdict === 'cancelled' ? id : undefined));
  expect(dueAt).toEqual(
    row?.['due_at'] ?? (verdict === 'cancelled' ? before?.['due_at'] : undefined),
  );
});
