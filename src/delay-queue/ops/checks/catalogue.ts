import { findStranger, judge, judgeIds } from '../../core/ops.js';
import { findExpiredLeases, findInDelays, findUnreadable, findZones } from './delays.js';
import type { Look } from './look.js';
import { findRights, findSettings, tryListen } from './server.js';
import { readHolders, readRelations } from './vacuum.sql.js';
import { judgeHolder, SIZE_CHECKS } from './vacuum.js';

/*
 * What the doctor looks at, in its order. A start runs the checks of these that stop a node (`core/store/checks`), the
 * health of a node those that change while it runs.
 */

export const SERVER_LOOKS: readonly Look[] = [
  { check: 'settings', find: findSettings, ok: 'the settings are suitable' },
  {
    check: 'snapshots',
    find: async ({ runner, limits: { snapshotAfterMs } }) =>
      (await readHolders(runner))
        // Nothing says since when a slot has held one.
        .filter(({ kind, heldMs }) => kind === 'slot' || (heldMs ?? -1) >= snapshotAfterMs)
        .map(judgeHolder),
    ok: 'nothing has held a snapshot for long',
  },
  {
    check: 'listen',
    // A standby has none.
    find: async ({ dataSource, server }) => (server.isStandby ? [] : [await tryListen(dataSource)]),
  },
];

/** If there are tables. */
export const TABLE_LOOKS: readonly Look[] = [
  { check: 'rights', find: findRights },
  {
    check: 'owners',
    find: async ({ runner, schema }) => {
      const stranger = await findStranger(runner, schema, false);
      return stranger === undefined ? [] : [stranger];
    },
  },
  { check: 'identity', find: async ({ runner, schema }) => [await judgeIds(runner, schema)] },
  {
    check: 'size',
    find: async ({ runner, schema }) =>
      (await readRelations(runner, schema)).flatMap((each) => judge(SIZE_CHECKS, each)),
    ok: 'there are few dead rows, and no bloat',
  },
  { check: 'rows', find: findUnreadable, ok: 'every row can be read' },
  { check: 'time-zones', find: findZones },
  { check: 'leases', find: findExpiredLeases },
  { check: 'delays', find: findInDelays },
];
