import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { NodeProcess } from '../support/node-process.js';
import { Cluster } from './support/cluster.js';
import type { CalendarMessage, CalendarSetup } from './support/calendar.protocol.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Longer than any zone keeps one offset, so a wait of calendar days would be an hour off. */
const STRETCH_MS = 200 * DAY_MS;

/**
 * Zones with a change of the clocks: where, an instant an hour or two before it, and how the database writes and
 * reads times meanwhile, when nobody says otherwise.
 */
const ZONES = [
  {
    zone: 'Europe/Berlin',
    beforeMs: Date.UTC(2090, 9, 29, 0),
    session: { timezone: 'UTC', datestyle: 'ISO, MDY', intervalstyle: 'postgres' },
  },
  {
    zone: 'America/New_York',
    beforeMs: Date.UTC(2090, 2, 12, 6),
    session: { timezone: 'America/St_Johns', datestyle: 'SQL, DMY', intervalstyle: 'sql_standard' },
  },
  // By half an hour, and on the other side of the world.
  {
    zone: 'Australia/Lord_Howe',
    beforeMs: Date.UTC(2090, 3, 1, 14),
    session: { timezone: 'Asia/Kathmandu', datestyle: 'German', intervalstyle: 'iso_8601' },
  },
];

let cluster: Cluster;
let node: NodeProcess<CalendarMessage> | undefined;

beforeEach(async () => {
  cluster = await Cluster.open();
});

afterEach(async () => {
  if (node?.running) await node.kill('SIGKILL');
  node = undefined;
  await cluster.close();
});

/** For all sessions from now on; the cluster's own, opened before, stay as they are. */
async function setSessions(settings: (typeof ZONES)[number]['session']): Promise<void> {
  const [row] = await cluster.sql<{ name: string }>('SELECT current_database() AS name');
  for (const [setting, value] of Object.entries(settings)) {
    await cluster.sql(`ALTER DATABASE ${row!.name} SET ${setting} = '${value}'`);
  }
}

async function calendarIn(zone: string, instantsMs: number[]): Promise<CalendarMessage> {
  const setup: CalendarSetup = { url: cluster.url, instantsMs, stretchMs: STRETCH_MS };
  node = NodeProcess.start('test/cluster/fixtures/calendar.ts', {
    env: { TZ: zone, CALENDAR: JSON.stringify(setup) },
  });
  const told = await node.waitFor(({ zone: itsZone }) => itsZone !== undefined);
  expect(await node.exited).toEqual({ code: 0, signal: null });
  return told;
}

const stored = async (): Promise<Map<string, { dueMs: number; createdMs: number }>> => {
  const rows = await cluster.sql<{ key: string; dueMs: number; createdMs: number }>(
    `SELECT key, (extract(epoch FROM due_at) * 1000)::float8 AS "dueMs",
            (extract(epoch FROM created_at) * 1000)::float8 AS "createdMs"
     FROM delay_queue.delay`,
  );
  return new Map(rows.map(({ key, ...times }) => [key, times]));
};

it.each(ZONES)(
  'a database that keeps $session.timezone, and a process in $zone: a due time is an instant',
  async ({ zone, beforeMs, session }) => {
    await setSessions(session);
    const instantsMs = [0, 1, 2, 3].map((hours) => beforeMs + hours * HOUR_MS);
    const told = await calendarIn(zone, instantsMs);
    // The clocks really change between these instants, in the process that wrote them.
    expect(told.zone).toBe(zone);
    expect(new Set(told.offsets).size).toBe(2);

    expect(told.at).toEqual(instantsMs);
    expect(told.foundMs).toBe(instantsMs[0]);
    expect(told.extendedMs).toBe(instantsMs[0]! + STRETCH_MS);
    expect(told.firedMs).toBe(told.soonMs);
    expect(told.historyMs).toBe(told.soonMs);
    expect(told.latenessMs).toBeGreaterThanOrEqual(0);
    expect(told.latenessMs).toBeLessThan(HOUR_MS / 2);

    const rows = await stored();
    expect(instantsMs.map((ms) => rows.get(`at ${ms}`)?.dueMs)).toEqual(instantsMs);
    const { dueMs, createdMs } = rows.get('after')!;
    expect(told.afterMs).toBe(dueMs);
    // Whole milliseconds, rounded up.
    expect(dueMs - createdMs - STRETCH_MS).toBeGreaterThanOrEqual(0);
    expect(dueMs - createdMs - STRETCH_MS).toBeLessThan(1);
  },
);
