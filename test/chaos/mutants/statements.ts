import { tablesOf } from '../../../src/delay-queue/store/tables/schema.js';
import type { LockWait } from '../../../src/delay-queue/store/sql/parts/lock-wait.js';
import { claimLimitedSql } from '../../../src/delay-queue/store/sql/limits/claim-limited.sql.js';
import { lockQuotasSql } from '../../../src/delay-queue/store/sql/limits/lock-quotas.sql.js';
import {
  pauseSql,
  pausesSql,
  resumeSql,
} from '../../../src/delay-queue/store/sql/pauses/pauses.sql.js';
import { exhaustedSql } from '../../../src/delay-queue/store/sql/attempts/exhausted.sql.js';
import { cancelOneSql } from '../../../src/delay-queue/store/tables/cancel-one.function.js';
import { scheduleOneSql } from '../../../src/delay-queue/store/tables/schedule-one.function.js';
import {
  cancelSql,
  cancelWaitingSql,
} from '../../../src/delay-queue/store/sql/delays/cancel.sql.js';
import { claimSql } from '../../../src/delay-queue/store/sql/attempts/claim.sql.js';
import {
  completeOneSql,
  completeSql,
} from '../../../src/delay-queue/store/sql/attempts/complete.sql.js';
import { fenceOneSql, fenceSql } from '../../../src/delay-queue/store/sql/attempts/fence.sql.js';
import { loadSql } from '../../../src/delay-queue/store/sql/wakes/load.sql.js';
import { moveOnSql } from '../../../src/delay-queue/store/sql/delays/move-on.sql.js';
import { scheduleTakenSql } from '../../../src/delay-queue/store/sql/delays/schedule-taken.sql.js';
import {
  scheduleAllNewSql,
  scheduleKeylessSql,
  scheduleNewSql,
} from '../../../src/delay-queue/store/sql/delays/schedule-new.sql.js';
import { recurSql } from '../../../src/delay-queue/store/sql/recurrences/recur.sql.js';
import { renewSql } from '../../../src/delay-queue/store/sql/attempts/renew.sql.js';
import { rescheduleSql } from '../../../src/delay-queue/store/sql/delays/reschedule.sql.js';
import { retrySql } from '../../../src/delay-queue/store/sql/attempts/retry.sql.js';
import { sweepSql } from '../../../src/delay-queue/store/sql/wakes/sweep.sql.js';

/** As a chaos run uses the library: the default schema, with history and its attempts. */
const tables = tablesOf('delay_queue');

/** With the lockWait that callers have for whoever holds a row. */
const patiently = (build: (lockWait: LockWait) => string): readonly string[] => [
  build('a while'),
  build('at once'),
];

/** The library's statements as they go out, each in all its forms: what a mutant rewrites. */
export const STATEMENTS = {
  bury: [exhaustedSql(tables)],
  cancel: patiently((lockWait) => cancelSql(tables, 'attempts', lockWait)),
  cancelOne: [cancelOneSql(tables)],
  cancelWaiting: [cancelWaitingSql(tables, 'attempts')],
  claim: [claimSql(tables, 'attempts')],
  claimLimited: [claimLimitedSql(tables, 'attempts')],
  complete: [completeSql(tables, 'attempts')],
  completeOne: [completeOneSql(tables, 'attempts')],
  fence: [fenceSql(tables)],
  fenceOne: [fenceOneSql(tables)],
  load: [loadSql(tables), loadSql(tables, true)],
  lockQuotas: [lockQuotasSql(tables)],
  moveOn: [
    moveOnSql(tables, 'attempts', 'waits'),
    ...patiently((lockWait) => moveOnSql(tables, 'attempts', lockWait)),
  ],
  pause: [pauseSql(tables)],
  pauses: [pausesSql(tables)],
  place: [
    scheduleNewSql(tables, 'waits'),
    ...patiently((lockWait) => scheduleNewSql(tables, lockWait)),
    scheduleKeylessSql(tables),
    scheduleAllNewSql(tables),
    scheduleNewSql(tables, 'waits', 'all'),
    ...patiently((lockWait) => scheduleNewSql(tables, lockWait, 'all')),
    scheduleKeylessSql(tables, 'all'),
    scheduleAllNewSql(tables, 'all'),
    scheduleNewSql(tables, 'waits', 'recurring'),
    ...patiently((lockWait) => scheduleNewSql(tables, lockWait, 'recurring')),
    scheduleKeylessSql(tables, 'recurring'),
    scheduleAllNewSql(tables, 'recurring'),
  ],
  placeOne: [scheduleOneSql(tables)],
  placeAgain: [
    ...patiently((lockWait) => scheduleTakenSql(tables, 'attempts', lockWait)),
    scheduleTakenSql(tables, 'attempts', 'waits', 'all or none'),
    ...patiently((lockWait) =>
      scheduleTakenSql(tables, 'attempts', lockWait, 'each', 'how it recurs'),
    ),
    scheduleTakenSql(tables, 'attempts', 'waits', 'all or none', 'how it recurs'),
  ],
  renew: [renewSql(tables)],
  recur: [recurSql(tables, 'attempts')],
  reschedule: patiently((lockWait) => rescheduleSql(tables, lockWait)),
  resume: [resumeSql(tables)],
  settle: [retrySql(tables, 'attempts')],
  sweep: [sweepSql(tables), sweepSql(tables, true)],
} as const satisfies Record<string, readonly string[]>;

export type StatementName = keyof typeof STATEMENTS;
