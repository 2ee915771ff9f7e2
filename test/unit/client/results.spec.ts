import { describe, expect, it } from '@jest/globals';
import {
  changeResult,
  combineStats,
  toInfo,
  toListed,
} from '../../../src/delay-queue/core/client/results.js';
import { DelayCodecError } from '../../../src/delay-queue/core/api/errors.js';
import type { Payloads } from '../../../src/delay-queue/core/config/payloads.js';
import { reader, type TextAnswer } from '../../../src/delay-queue/core/store/rows/columns.js';
import type { Placed } from '../../../src/delay-queue/core/store/rows/delay-rows.js';
import { found, listedColumns } from '../../../src/delay-queue/core/store/sql/delays.sql.js';
import { ENDED } from '../../../src/delay-queue/core/store/sql/history.sql.js';
import { PAUSE } from '../../../src/delay-queue/core/store/sql/nodes.sql.js';
import { nodeColumns } from '../../../src/delay-queue/core/store/sql/stats.sql.js';
import { qualifiedTables } from '../../../src/delay-queue/core/database/tables.js';
import '../../support/delay-payloads.js';

const TABLES = qualifiedTables('delay_queue');

/** As the server answers. */
const ROW: TextAnswer = {
  id: '7',
  name: 'test.a',
  key: 'k',
  group_id: null,
  headers: null,
  payload: '{}',
  state: 'scheduled',
  due_at: '1000',
  wake_at: '2000',
  attempts: '0',
  max_attempts: '3',
  last_error: null,
  created_at: '500',
  repeat: null,
  attempt_log: null,
  move_log: null,
  rerun_at: null,
};

const info = (odd: TextAnswer = {}) => toInfo(reader(found(TABLES))({ ...ROW, ...odd }), { n: 1 });

const repeat = (how: object) => info({ repeat: JSON.stringify({ catchUp: 'all', ...how }) }).repeat;

describe('a delay', () => {
  it('is told as its row has it', () => {
    expect(info()).toEqual({
      id: '7',
      name: 'test.a',
      key: 'k',
      group: null,
      headers: {},
      payload: { n: 1 },
      state: 'scheduled',
      dueAt: new Date(1_000),
      wakeAt: new Date(2_000),
      attempts: 0,
      maxAttempts: 3,
      lastError: null,
      createdAt: new Date(500),
      repeat: null,
      attemptLog: [],
      moveLog: [],
      rerunAt: null,
    });
    expect(info({ wake_at: null, rerun_at: '0' })).toMatchObject({
      wakeAt: null,
      rerunAt: new Date(0),
    });
  });

  it.each(['[]', '7', '"text"', 'null'])('with %s in a column shows it as empty', (odd) => {
    const told = info({ headers: odd, repeat: odd, attempt_log: odd, move_log: odd });
    expect(told).toMatchObject({ headers: {}, repeat: null, attemptLog: [], moveLog: [] });
  });

  it('recurs by what its caller said, and no more', () => {
    expect(repeat({ every: 5, anchor: 1 })).toEqual({ every: 5, catchUp: 'all' });
    const cron = { cron: '0 * * * *', timeZone: 'UTC' };
    expect(repeat({ ...cron, declared: true })).toEqual({ ...cron, catchUp: 'all' });
  });

  it('has attempts, the last of which runs if it does', () => {
    const log = [
      { attempt: 1, node: 'a', startedMs: 1, outcome: 'failed', endedMs: 2, error: 'no' },
      { attempt: 2, node: 'a', startedMs: 3 },
      null,
      { attempt: 3 },
      { attempt: 4, node: 'b', startedMs: 5 },
    ];
    const outcomes = (state: string) =>
      info({ state, attempt_log: JSON.stringify(log) }).attemptLog.map(({ outcome }) => outcome);
    expect(outcomes('running')).toEqual(['failed', 'lost', 'running']);
    expect(outcomes('retrying')).toEqual(['failed', 'lost', 'lost']);
    expect(info({ attempt_log: JSON.stringify(log) }).attemptLog.slice(0, 2)).toEqual([
      {
        attempt: 1,
        outcome: 'failed',
        node: 'a',
        startedAt: new Date(1),
        endedAt: new Date(2),
        error: 'no',
      },
      {
        attempt: 2,
        outcome: 'lost',
        node: 'a',
        startedAt: new Date(3),
        endedAt: null,
        error: null,
      },
    ]);
  });

  it('has moves', () => {
    const move = { call: 'reschedule', atMs: 1, fromMs: 2, toMs: 3 };
    const log = [
      move,
      { ...move, toMs: 'x' },
      null,
      'text',
      { ...move, by: 'ann' },
      { ...move, by: 7 },
    ];
    const told = { call: 'reschedule', at: new Date(1), from: new Date(2), to: new Date(3) };
    expect(info({ move_log: JSON.stringify(log) }).moveLog).toEqual(
      [null, 'ann', null].map((by) => ({ ...told, by })),
    );
  });
});

const listed = (given: (text: string) => unknown, waits: (string | null)[]) =>
  toListed(
    waits
      .map((waits_for, n) => ({ ...ROW, payload: String(n), waits_for }))
      .map(reader(listedColumns(TABLES, 'read'))),
    { given: async (text: string) => given(text) } as unknown as Payloads,
  );

const failing = (error: Error) => (text: string) => {
  if (text === '0') throw error;
  return text;
};

describe('those of a list', () => {
  it('tell what they wait for', async () => {
    const limit = JSON.stringify({ for: 'limit', sinceMs: 0 });
    const pause = JSON.stringify({ for: 'pause', sinceMs: 1, untilMs: 2 });
    const endless = JSON.stringify({ for: 'pause', untilMs: null });
    const all = await listed((text) => text, [null, limit, pause, endless]);
    expect(all.map(({ waitsFor }) => waitsFor)).toEqual([
      null,
      { for: 'limit', since: new Date(0) },
      { for: 'pause', since: new Date(1), until: new Date(2) },
      { for: 'pause', until: null },
    ]);
    expect(all.map(({ payload }) => payload)).toEqual(['0', '1', '2', '3']);
  });

  it('hide no other where one cannot be decoded, and what else goes wrong is told', async () => {
    const unreadable = new DelayCodecError('no key');
    const all = await listed(failing(unreadable), [null, null]);
    expect(all).toMatchObject([{ payload: undefined, unreadable }, { payload: '1' }]);
    await expect(listed(failing(new Error('broken')), [null])).rejects.toThrow('broken');
  });
});

it('what has ended is told as its line has it', () => {
  const line = {
    ...ROW,
    state: 'completed',
    ended_at: '3000',
    lateness_ms: '4',
    node: 'a',
    error: null,
    ended_by: 'ann',
  };
  expect(reader(ENDED)(line)).toMatchObject({
    id: '7',
    name: 'test.a',
    headers: {},
    state: 'completed',
    endedAt: new Date(3_000),
    latenessMs: 4,
    node: 'a',
    by: 'ann',
    attemptLog: [],
    moveLog: [],
  });
});

it('an answer tells of a rerun that it has taken back, where something runs', () => {
  const placed = { id: 7, dueMs: 1_000, rerunCancelled: true } as Placed;
  const told = { id: '7', dueAt: new Date(1_000) };
  expect(changeResult({ ...placed, verdict: 'running' })).toEqual({
    verdict: 'running',
    ...told,
    rerunCancelled: true,
  });
  expect(changeResult({ ...placed, verdict: 'cancelled' })).toEqual({
    verdict: 'cancelled',
    ...told,
  });
});

it('a pause has an end, or none', () => {
  const row = { name: 'a', group_id: null, reason: null, paused_by: 'ann', paused_at: '0' };
  const read = reader(PAUSE);
  expect(read({ ...row, until: '5' })).toMatchObject({
    by: 'ann',
    pausedAt: new Date(0),
    until: new Date(5),
  });
  expect(read({ ...row, until: null }).until).toBeNull();
});

it('names with delays and names with nodes are told once, in their order, with how many nodes serve them', () => {
  const counts = { scheduled: 1, late: 2 };
  const node = { names: '["b","c"]', started_at: '1', seen_at: '2', running: '0' };
  const nodes = ['n1', 'n2'].map((id) => reader(nodeColumns(TABLES))({ ...node, id }));
  const names = ['d', 'b'].map((name) => ({ name, ...counts }));
  const { names: told, nodes: live } = combineStats(names as never, nodes, []);
  expect(told.map((each) => [each.name, each.nodes, each.scheduled])).toEqual([
    ['b', 2, 1],
    ['c', 2, 0],
    ['d', 0, 1],
  ]);
  expect(told[1]).toMatchObject({ dead: 0, late: 0, oldestLateMs: null, overduePaused: 0 });
  expect(live[0]).toMatchObject({ name: 'n1', startedAt: new Date(1), seenAt: new Date(2) });
});
