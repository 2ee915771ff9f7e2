import { tablesOf } from '../../../src/delay-queue/store/tables/schema.js';
import { exhaustedSql } from '../../../src/delay-queue/store/sql/attempts/exhausted.sql.js';
import {
  cancelSql,
  cancelWaitingSql,
} from '../../../src/delay-queue/store/sql/delays/cancel.sql.js';
import { claimSql } from '../../../src/delay-queue/store/sql/attempts/claim.sql.js';
import { completeSql } from '../../../src/delay-queue/store/sql/attempts/complete.sql.js';
import { SETTINGS_SQL } from '../../../src/delay-queue/database/session-settings.js';
import { endSessionSql, fenceSql } from '../../../src/delay-queue/store/sql/attempts/fence.sql.js';
import { forgetNodesSql } from '../../../src/delay-queue/store/sql/nodes/forget-nodes.sql.js';
import { leaveSql } from '../../../src/delay-queue/store/sql/nodes/leave.sql.js';
import { loadSql } from '../../../src/delay-queue/store/sql/wakes/load.sql.js';
import { lookAtSql } from '../../../src/delay-queue/store/sql/attempts/look-at.sql.js';
import { moveOnSql } from '../../../src/delay-queue/store/sql/delays/move-on.sql.js';
import { scheduleTakenSql } from '../../../src/delay-queue/store/sql/delays/schedule-taken.sql.js';
import {
  scheduleAllNewSql,
  scheduleKeylessSql,
  scheduleNewSql,
} from '../../../src/delay-queue/store/sql/delays/schedule-new.sql.js';
import { presenceSql } from '../../../src/delay-queue/store/sql/nodes/presence.sql.js';
import { pruneSql } from '../../../src/delay-queue/store/sql/history/prune.sql.js';
import { renewSql } from '../../../src/delay-queue/store/sql/attempts/renew.sql.js';
import { rescheduleSql } from '../../../src/delay-queue/store/sql/delays/reschedule.sql.js';
import { retryDeadSql } from '../../../src/delay-queue/store/sql/delays/retry-dead.sql.js';
import { retrySql } from '../../../src/delay-queue/store/sql/attempts/retry.sql.js';
import { sweepSql } from '../../../src/delay-queue/store/sql/wakes/sweep.sql.js';
import { scheduleUndoSql } from '../../../src/delay-queue/store/sql/delays/schedule-undo.sql.js';
import type { Session, Sessions } from './sessions.js';
import * as engine from './statements/engine.js';
import * as pages from './statements/pages.js';
import * as placing from './statements/placing.js';
import * as producers from './statements/producers.js';
import { listOf, type WaitingStatement } from './statements/statement.js';
import type { Effect, Tables } from './tables.js';
import type { Transaction } from './transaction.js';

export const SCHEMA = 'delay_queue';

/** What the simulated application runs beside the library's statements. */
export const EFFECT_SQL = 'INSERT INTO effect (id, epoch) VALUES ($1, $2)';
export const BROKEN_SQL = 'SELECT * FROM no_such_table';

export interface Known {
  /** For the trace, and for those who count statements. */
  label: string;
  /** Made for calls of many callers: each row of its parameters is somebody's. */
  isShared: boolean;
  run: WaitingStatement;
}

type AnyStatement = (tx: Transaction, parameters: readonly unknown[]) => unknown;

type Entry = [sql: string, label: string, statement: AnyStatement, isShared?: boolean];

/** Makes one that never waits look like one that may. */
const known = (label: string, statement: AnyStatement, isShared = false): Known => ({
  label,
  isShared,
  *run(tx, parameters) {
    const result = statement(tx, parameters);
    return Array.isArray(result) ? result : yield* result as ReturnType<WaitingStatement>;
  },
});

/** The library's statements by their very text: another text is another statement. */
export function catalogOf(tables: Tables, sessions: Sessions): Map<string, Known> {
  const names = tablesOf(SCHEMA);
  const keyless = placing.placeOf(() => tables.nextId(), 'waits');
  const statements: Entry[] = [
    [claimSql(names), 'claim', engine.claim],
    [lookAtSql(names), 'lookAt', engine.lookAt],
    [completeSql(names, true), 'complete', engine.complete],
    [retrySql(names), 'settle', engine.settle],
    [exhaustedSql(names), 'bury', engine.bury],
    [renewSql(names), 'renew', engine.renew],
    [fenceSql(names), 'fence', engine.fence],
    [loadSql(names), 'load', pages.loadOf(tables, sessions)],
    [sweepSql(names), 'sweep', pages.sweep],
    [leaveSql(names), 'leave', pages.leaveOf(tables)],
    [pruneSql(names), 'prune', pages.pruneOf(tables)],
    [forgetNodesSql(names), 'forgetNodes', pages.forgetNodesOf(tables)],
    [scheduleKeylessSql(names), 'place', keyless, true],
    [scheduleAllNewSql(names), 'place', placing.placeAllOf(() => tables.nextId())],
    [cancelWaitingSql(names, true), 'cancel', producers.cancelWaiting, true],
    [
      scheduleTakenSql(names, true, 'waits', 'all or none'),
      'placeAgain',
      placing.placeAgainOf('waits', 'all or none'),
    ],
    [scheduleUndoSql(names), 'unplace', placing.unplace],
    [retryDeadSql(names, 'waits'), 'retryDead', producers.retryDeadOf('waits')],
    [retryDeadSql(names, 'a while'), 'retryDead', producers.retryDeadOf('a while')],
    [EFFECT_SQL, 'effect', effect],
  ];
  for (const lockWait of ['waits', 'a while', 'at once'] as const) {
    const isShared = lockWait === 'at once';
    statements.push(
      [
        scheduleNewSql(names, lockWait),
        'place',
        placing.placeOf(() => tables.nextId(), lockWait),
        isShared,
      ],
      [
        scheduleTakenSql(names, true, lockWait),
        'placeAgain',
        placing.placeAgainOf(lockWait),
        isShared,
      ],
      [moveOnSql(names, true, lockWait), 'moveOn', producers.moveOnOf(lockWait)],
      [cancelSql(names, true, lockWait), 'cancel', producers.cancelOf(lockWait), isShared],
      [rescheduleSql(names, lockWait), 'reschedule', producers.rescheduleOf(lockWait), isShared],
    );
  }
  return new Map(statements.map(([sql, ...rest]) => [sql, known(...rest)] as const));
}

function effect(tx: Transaction, [id, epoch]: readonly unknown[]): object[] {
  tx.effect({ id, epoch } as Effect);
  return [];
}

/** What is not about delays: recognised by what it begins with. */
export function sideStatement(
  sql: string,
  session: Session,
  sessions: Sessions,
  endSession: (pid: number) => void,
): Known | undefined {
  if (sql === presenceSql()) {
    return known('presence', (_, [node]) => [
      { held: String(sessions.claimPresence(session, node as string)) },
    ]);
  }
  const [, verb, channel] = /^(LISTEN|UNLISTEN) "(.+)"; SELECT pg_backend_pid/.exec(sql) ?? [];
  if (channel !== undefined) {
    return known('listen', () => {
      if (verb === 'LISTEN') sessions.listen(session, channel);
      else sessions.unlisten(session, channel);
      return [{ pid: String(session.pid) }];
    });
  }
  if (sql.startsWith('SELECT pg_notify(')) {
    return known('notify', (tx, [to, texts]) => {
      const isOne = !sql.includes('unnest');
      for (const text of isOne ? [texts] : listOf(texts)) tx.notify(to as string, text as string);
      return [];
    });
  }
  if (sql === endSessionSql()) {
    return known('terminate', (_, [pid, began]) => {
      if (sessions.get(pid as number)?.open?.began === began) endSession(pid as number);
      return [];
    });
  }
  if (sql === SETTINGS_SQL) return known('settings', () => []);
  if (sql.includes("current_setting('server_version_num')")) {
    const found = {
      version: '180004',
      isolation: 'read committed',
      replica: 'false',
      read_only: 'off',
      missing: null,
      guarded: null,
      limits: null,
    };
    return known('preflight', () => [found]);
  }
  return /^SELECT (?:1|version\(\)|\* FROM current_\w+\(\))$/i.test(sql)
    ? known('constant', () => [
        { version: 'PostgreSQL 18.4 (simulated)', current_schema: 'public' },
      ])
    : undefined;
}
