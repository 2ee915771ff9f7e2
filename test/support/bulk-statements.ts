import { expect } from '@jest/globals';
import {
  claimExhaustedSql,
  claimLimitedSql,
  claimSql,
  forgetPermitsSql,
  lockQuotasSql,
} from '../../src/delay-queue/core/store/sql/claim.sql.js';
import {
  askAbortsSql,
  completeSql,
  holdSql,
  exhaustedSql,
  lookAtSql,
  removeAllSql,
  renewSql,
  retrySql,
} from '../../src/delay-queue/core/store/sql/attempts.sql.js';
import {
  cancelSql,
  cancelWaitingSql,
  moveOnSql,
  rescheduleSql,
  retryDeadSql,
  runNowSql,
} from '../../src/delay-queue/core/store/sql/delays.sql.js';
import {
  scheduleAllNewSql,
  scheduleKeylessSql,
  scheduleNewSql,
  scheduleTakenSql,
  scheduleUndoSql,
} from '../../src/delay-queue/core/store/sql/schedule.sql.js';
import { Targets } from '../../src/delay-queue/core/store/sql/fragments/target-rows.js';
import { forgetSql } from '../../src/delay-queue/core/store/sql/nodes.sql.js';
import { recurSql } from '../../src/delay-queue/core/store/sql/recurrences.sql.js';
import { qualifiedTables } from '../../src/delay-queue/core/database/tables.js';
import type { Plan } from './explain.js';
import { FUTURE, OVERDUE, SERVED } from './full-tables.js';

/** The statements about many rows of full tables, with parameters, and how they should find their rows. */
export type Statements = Record<string, [sql: string, parameters: unknown[]]>;

const tables = qualifiedTables('delay_queue');
const NODE = 'node-1';
/** The node that claims, whether fences guard its attempts, and the lock that it holds. */
const by = (count: number): unknown[] => [NODE, same(count, true), 7];

export const each = <Value>(count: number, value: (n: number) => Value): Value[] =>
  Array.from({ length: count }, (_, n) => value(n));
export const same = <Value>(count: number, value: Value): Value[] => each(count, () => value);

/** Spread over the whole table, so that no neighbourhood makes it look cheap. */
export const idsOf = (count: number): number[] =>
  each(count, (n) => 1 + n * Math.floor(FUTURE / count));

/** Its cast fails unless it hits every row. */
const orSome = (removal: string): string =>
  removal.replace('::int::text AS done', '::text AS done');

export function statementsById(count: number): Statements {
  const [ids, epochs, numbers] = [idsOf(count), same(count, 0), same(count, 30_000)];
  const endings = [same(count, false), same(count, 0), same(count, true), same(count, 'no')];
  return {
    claim: [claimSql(tables, 'ends'), [ids, epochs, numbers, same(count, 9), ...by(count)]],
    lookAt: [lookAtSql(tables), [ids]],
    askAborts: [askAbortsSql(tables), [ids, NODE]],
    complete: [completeSql(tables, 'ends'), [ids, epochs, numbers]],
    hold: [holdSql(tables), [ids, epochs]],
    remove: [orSome(removeAllSql(tables, 'ends')), [ids, epochs, numbers]],
    removeKeepingAttempts: [orSome(removeAllSql(tables, 'attempts')), [ids, epochs, numbers]],
    retry: [retrySql(tables, 'ends'), [ids, epochs, numbers, ...endings, NODE]],
    renew: [renewSql(tables), [ids, epochs, 30_000]],
    claimKeepingAttempts: [
      claimSql(tables, 'attempts'),
      [ids, epochs, numbers, same(count, 9), ...by(count)],
    ],
    completeKeepingAttempts: [completeSql(tables, 'attempts'), [ids, epochs, numbers]],
    retryKeepingAttempts: [
      retrySql(tables, 'attempts'),
      [ids, epochs, numbers, ...endings, NODE, same(count, 'failed')],
    ],
    exhausted: [exhaustedSql(tables), [ids, epochs, same(count, 1), 'no']],
  };
}

/** About one row, by its id. */
export function statementsOfOne(): Statements {
  const [id] = idsOf(1);
  const as = [null, 1_000, null, null, null, 0, null];
  return {
    moveOn: [moveOnSql(tables, 'ends', 'at once'), [id, 0, NODE, ...as]],
    moveOnWaits: [moveOnSql(tables, 'ends', 'waits'), [id, 0, NODE, ...as]],
    scheduleUndo: [scheduleUndoSql(tables), [[id]]],
  };
}

/** Spread over what is due. */
const dueIdsOf = (count: number): number[] =>
  each(count, (n) => FUTURE + 1 + n * Math.floor(OVERDUE / count));

/** Of delays that are due, as if they had no attempt left. */
export function statementsOfExhausted(count: number): Statements {
  const [ids, epochs, none] = [dueIdsOf(count), same(count, 0), same(count, 0)];
  const due = same(count, '2026-01-01');
  const next = ids.map((n) => (n % 3 === 0 ? '-infinity' : '2086-01-01'));
  const ends = [same(count, 'failed'), same(count, 'NaN'), same(count, 'no'), same(count, -1)];
  const skipped = [ids.map((n) => n % 2), due, same(count, '{}')];
  const recurring = [ids, epochs, due, next, ...ends, NODE, ...skipped];
  return {
    claimExhausted: [
      claimExhaustedSql(tables, 'ends'),
      [ids, epochs, same(count, 30_000), none, ...by(count), false],
    ],
    buried: [exhaustedSql(tables), [ids, epochs, none, 'no']],
    recur: [recurSql(tables, 'ends'), recurring],
  };
}

/** A claim of delays that are due, of which each group may have one at a time, or one in an hour, and its locks before. */
export function statementsOfLimits(count: number): Statements {
  const ids = dueIdsOf(count);
  const wanted = [ids, same(count, 0), same(count, 30_000), same(count, 9), ...by(count)];
  const none = [[0], [0], [0]];
  const perGroup = [[1], [1], [1 / 3_600_000]];
  return {
    lockQuotas: [lockQuotasSql(tables), [ids, [SERVED], [false], [true]]],
    claimLimited: [claimLimitedSql(tables, 'ends'), [...wanted, [SERVED], ...none, ...perGroup]],
  };
}

/** Of limits that nobody meets any more, as many as one statement may. */
export const statementsThatForget = (count: number): Statements => ({
  forgetPermits: [forgetPermitsSql(tables), [count]],
  forgetQuotas: [forgetSql(tables, 'quota'), [0, count]],
});

const itemsOf = (keys: unknown[]): unknown[] => {
  const nothing = keys.map(() => null);
  const [names, payloads] = [keys.map(() => SERVED), keys.map(() => '{"n":1}')];
  return [names, keys, payloads, keys.map(() => 3_600_000), nothing, nothing];
};

export function statementsByKey(count: number): Statements {
  const keys = idsOf(count).map((id) => `key ${id}`);
  const [names, nothing] = [same(count, SERVED), same(count, null)];
  const items = itemsOf(keys);
  const again = [...items, same(count, 'replace'), same(count, '{}')];
  const moved = [names, keys, same(count, 1), nothing, nothing];
  return {
    scheduleNew: [scheduleNewSql(tables, 'at once'), items],
    scheduleNewWaits: [scheduleNewSql(tables, 'waits'), items],
    scheduleAllNew: [scheduleAllNewSql(tables), items],
    scheduleTaken: [scheduleTakenSql(tables, 'ends', 'at once'), again],
    scheduleTakenWaits: [scheduleTakenSql(tables, 'ends', 'waits'), again],
    scheduleAllTaken: [scheduleTakenSql(tables, 'ends', 'waits', 'all or none'), again],
    cancelWaiting: [cancelWaitingSql(tables, 'ends'), [names, keys]],
    cancel: [cancelSql(tables, 'ends', 'at once'), [names, keys, null, null]],
    cancelWaits: [cancelSql(tables, 'ends', 'waits'), [names, keys, null, null]],
    cancelWaitsAWhile: [cancelSql(tables, 'ends', 'a while'), [names, keys, null, null]],
    reschedule: [rescheduleSql(tables, 'at once'), moved],
    rescheduleWaits: [rescheduleSql(tables, 'waits'), moved],
    retryDead: [retryDeadSql(tables, 'waits', Targets.KEYS), [names, keys]],
    runNow: [runNowSql(tables, 'at once', Targets.CALLS), [names, keys, null, null]],
    runNowWaits: [runNowSql(tables, 'waits', Targets.KEYS), [names, keys, [], []]],
  };
}

export const keylessStatement = (count: number): Statements[string] => [
  scheduleKeylessSql(tables),
  itemsOf(same(count, null)),
];

/** A page and its way through the index for each row, and what is written: never the whole table. */
export function expectById(plan: Plan, count: number): void {
  for (const { type, index } of plan.scansOf('delay')) {
    expect(type).toMatch(/^(Bitmap )?Index( Only)? Scan$|^Bitmap Heap Scan$|^Tid Scan$/);
    expect(index ?? 'delay_pkey').toBe('delay_pkey');
  }
  expectLittle(plan, count);
}

/** However it reads: it stops when it has as many as it may. */
export function expectLittle(plan: Plan, count: number): void {
  if (plan.buffers >= 60 + count * 25) {
    throw new Error(`reads ${plan.buffers} pages: ${JSON.stringify(plan.nodes, null, 1)}`);
  }
  expect(plan.mismatches).toBeLessThan(count);
}

/** The same, and each limit and permit is looked up, and written where it lies. */
export function expectByLimit(plan: Plan, count: number): void {
  expectById(plan, count * 2);
  for (const table of ['quota', 'permit']) {
    // Others are not executed: those of the whole name, which has no limit.
    for (const { type, index, rows } of plan.scansOf(table).filter((scan) => scan.rows > 0)) {
      expect(type).toMatch(/^Index( Only)? Scan$|^Tid Scan$/);
      expect(index ?? `${table}_pkey`).toBe(`${table}_pkey`);
      expect(rows).toBeLessThanOrEqual(count);
    }
  }
}

/** The row that was found by its key is then written by its id. */
export function expectByKey(plan: Plan, count: number): void {
  expect(plan.waysInto('delay')).toContain('Index Scan delay_key');
  for (const { type, index, indexCond } of plan.scansOf('delay')) {
    expect(`${type} ${index}`).toMatch(/^Index Scan delay_(key|pkey)$/);
    expect(indexCond).toMatch(index === 'delay_key' ? /name = .* AND .*key = / : /id = /);
  }
  expect(plan.buffers).toBeLessThan(60 + count * 60);
  expect(plan.mismatches).toBeLessThan(count);
}
