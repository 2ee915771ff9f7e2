import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, types } from 'pg';
import type { EntityManager } from 'typeorm';
import { createTestDatabase } from '../support/database.js';
import {
  type DelayNode,
  fencedBatchHandler,
  fencedHandler,
  plainHandler,
} from '../support/delay-node.js';
import type { Json } from '../support/delay-payloads.js';
import { OtherNode } from '../support/other-node.js';
import { Stage } from './engine/support/stage.js';
import { endSessionSql, sessionSql } from '../support/statements.js';

/** Of these TypeORM reads the server's version and schema. */
const LEFT_ALONE: ReadonlySet<number> = new Set([
  types.builtins.TEXT,
  types.builtins.VARCHAR,
  19 /* name */,
]);

/** Of bool, int, text, bigint, float8 and timestamptz. */
const ARRAYS = [1000, 1007, 1009, 1016, 1022, 1185];

const OIDS = [...Object.values(types.builtins), ...ARRAYS]
  .filter((oid) => typeof oid === 'number')
  .filter((oid) => !LEFT_ALONE.has(oid));

/**
 * Does what applications do to `pg`, for the whole process and for every type but text: `numeric` as a Money,
 * `bigint` as a BigInt, instants as a DateTime of its own.
 *
 * @returns puts the parsers back
 */
function parseOtherwise(): () => void {
  const before = OIDS.map((oid) => [oid, types.getTypeParser(oid)] as const);
  for (const oid of OIDS) types.setTypeParser(oid, (text: string) => ({ parsed: text }));
  return () => {
    for (const [oid, parser] of before) types.setTypeParser(oid, parser as never);
  };
}

/** What a role or a database may have set, and an application may have told `pg`: nothing changes. */
const SETTINGS = {
  extra_float_digits: '-3',
  array_nulls: 'off',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  bytea_output: 'escape',
  TimeZone: 'Asia/Kathmandu',
  standard_conforming_strings: 'off',
};

/** More digits than a float has under these settings, and than 32 bits. */
const ID_FIRST = 2 ** 50 + 12_345;
const EPOCH = 2 ** 40 + 12_345;

const FAR = [new Date('2030-01-02T03:04:05.678Z'), new Date('9999-12-31T23:59:59.999Z')];

const NAME = 'test.plain';
let fails = false;

const providers = [
  plainHandler(
    NAME,
    () => {
      if (fails) throw new Error('"no", said \\ NULL');
    },
    { maxAttempts: 2, backoff: () => 1 },
  ),
  fencedHandler('test.fenced', () => {}),
  fencedBatchHandler('test.batch', () => {}, { batch: 10 }),
];

describe.each([
  ['a role with settings of its own', SETTINGS, () => () => {}],
  ['an application with parsers of its own', {}, parseOtherwise],
] as const)('in %s', (_what, settings, parse) => {
  let stage: Stage;
  let node: DelayNode;
  let putBack: (() => void) | undefined;

  beforeAll(async () => {
    stage = await Stage.open();
    await stage.sql(`ALTER TABLE delay_queue.delay ALTER id RESTART WITH ${ID_FIRST},
                       ALTER epoch SET DEFAULT ${EPOCH}`);
    await stage.set(settings);
    putBack = parse();
    node = await stage.start({ providers });
  });

  afterAll(async () => {
    await stage.close();
    putBack?.();
  });

  it('is in effect', async () => {
    const [seen] = await node.dataSource.query('SELECT (1.0 / 3)::float8 AS third');
    expect(seen.third).not.toBe(1 / 3);
  });

  it.each(['alone', 'in a transaction'])('%s: every verdict, and the exact dueAt', async (way) => {
    const { delays, dataSource } = node;
    const verbs = async (options: { manager?: EntityManager }): Promise<void> => {
      for (const at of FAR) {
        const key = `k ${at.toISOString()} ${way}`;
        const schedule = (payload: Json, more: Parameters<typeof delays.schedule>[2]) =>
          delays.schedule('test.idle', payload, { ...more, key, ...options });
        const moves = (to: Parameters<typeof delays.reschedule>[2]) =>
          delays.reschedule('test.idle', key, to, options);
        const find = () => delays.find('test.idle', key, options);
        const placed = await schedule({ n: 1 }, { at });
        expect(placed).toMatchObject({ verdict: 'scheduled', dueAt: at });
        expect(Number(placed.id)).toBeGreaterThanOrEqual(ID_FIRST);
        const kept = await schedule(null, { after: 1, onConflict: 'keep' });
        expect(kept).toEqual({ ...placed, verdict: 'kept' });
        const waits = { state: 'scheduled', attempts: 0, lastError: null, maxAttempts: null };
        const first = { ...waits, id: placed.id, payload: { n: 1 }, dueAt: at, wakeAt: at };
        expect(await find()).toMatchObject(first);
        const replaced = await schedule('NULL', { after: '1h', maxAttempts: 7 });
        expect(replaced).toMatchObject({ verdict: 'replaced', id: placed.id });
        const dueAt = new Date(replaced.dueAt.getTime() + 3_600_000);
        expect(await moves({ extendBy: '1h' })).toMatchObject({ verdict: 'rescheduled', dueAt });
        expect(await moves({ at })).toMatchObject({ dueAt: at });
        expect(await find()).toMatchObject({ dueAt: at, maxAttempts: 7, payload: 'NULL' });
        const cancel = () => delays.cancel('test.idle', key, options);
        expect(await cancel()).toMatchObject({ verdict: 'cancelled' });
        expect(await cancel()).toEqual({ verdict: 'absent' });
      }
    };
    await (way === 'alone' ? verbs({}) : dataSource.transaction((manager) => verbs({ manager })));
  });

  it('many at once, with and without keys: every verdict, and the exact dueAt', async () => {
    const { delays, dataSource } = node;
    const [at, far] = FAR as [Date, Date];
    const items = [
      { name: 'test.idle', payload: 1, at, key: 'many' },
      { name: 'test.idle', payload: 2, at: far },
      { name: 'test.idle', payload: 3, after: '1h', key: 'NULL', maxAttempts: 3 },
      { name: 'test.idle', payload: 4, after: '1h' },
    ] as const;
    const first = await delays.scheduleMany([...items]);
    expect(first).toMatchObject([{ dueAt: at }, { dueAt: far }, {}, {}]);
    const again = await dataSource.transaction((manager) =>
      delays.scheduleMany([...items], { manager }),
    );
    const verdicts = ['replaced', 'scheduled', 'replaced', 'scheduled'];
    expect(again.map(({ verdict }) => verdict)).toEqual(verdicts);
    const { id, dueAt } = again[2]!;
    const found = { id, dueAt, payload: 3, maxAttempts: 3 };
    expect(await delays.find('test.idle', 'NULL')).toMatchObject(found);
    const alone = await delays.schedule('test.idle', 5, { at: far });
    expect(alone).toMatchObject({ verdict: 'scheduled', dueAt: far });
  });

  it.each([NAME, 'test.fenced', 'test.batch'] as const)(
    '%s fires, and leaves its line',
    async (name) => {
      const completed = node.next('completed');
      const { id, dueAt } = await node.delays.schedule(name, 1, { after: 20, key: 'fires' });
      const { latenessMs, ...event } = await completed;
      expect(event).toMatchObject({ id, key: 'fires', attempt: 1 });
      const [line] = await node.delays.history(name, 'fires');
      expect(line).toMatchObject({ id, state: 'completed', dueAt, attempts: 1 });
      expect(line?.latenessMs).toBeCloseTo(latenessMs, 6);
      expect(line?.endedAt.getTime()).toBeGreaterThanOrEqual(dueAt.getTime());
      expect(line?.createdAt.getTime()).toBeLessThanOrEqual(dueAt.getTime());
    },
  );

  it('fails, dies, is tried again and completes', async () => {
    fails = true;
    const dead = node.next('dead');
    const { id } = await node.delays.schedule(NAME, 1, { after: 0, key: 'fails' });
    expect(await dead).toMatchObject({ id, attempt: 2 });
    fails = false;
    expect(await node.delays.find(NAME, 'fails')).toMatchObject({
      state: 'dead',
      wakeAt: null,
      attempts: 2,
      lastError: 'Error: "no", said \\ NULL',
    });
    const completed = node.next('completed');
    const retried = await node.delays.retryDead(NAME, 'fails');
    expect(retried).toMatchObject({ verdict: 'retried', id });
    expect(await completed).toMatchObject({ id, attempt: 1 });
    expect(await node.delays.history(NAME, 'fails')).toMatchObject([{ state: 'completed', id }]);
  });

  it('a row without attempts left is buried', async () => {
    const other = new OtherNode(node.dataSource);
    const { id } = await node.delays.schedule('test.idle', 1, { after: 0, key: 'buried' });
    const { epoch } = await other.claimAndDie(id);
    const request = { id: Number(id), epoch, leaseMs: 0, maxAttempts: 1 };
    expect(await other.store.deadLetter([request], 'none left')).toEqual([
      expect.objectContaining({ id: Number(id), key: 'buried', attempts: 1, error: 'none left' }),
    ]);
    expect(await node.delays.find('test.idle', 'buried')).toMatchObject({ state: 'dead' });
  });
});

it.each([
  ['of its own, in whatever transaction', true],
  ['that a pooler lends, in that transaction alone', false],
])('a session %s is ended by one that writes instants its own way', async (_, isOwn) => {
  const database = await createTestDatabase();
  const [attempt, engine] = [1, 2].map(() => new Client({ connectionString: database.url }));
  attempt!.on('error', () => {});
  const end = async (...parameters: unknown[]): Promise<number | null> =>
    (await engine!.query(endSessionSql(), parameters)).rowCount;
  try {
    await Promise.all([attempt!.connect(), engine!.connect()]);
    await attempt!.query(`SET DateStyle = SQL, DMY; SET TimeZone = 'Asia/Kathmandu'; BEGIN`);
    const { rows } = await attempt!.query<{ pid: string; opened: string; began: string }>(
      sessionSql(),
    );
    const { pid, opened, began } = rows[0]!;
    // A later process of the same number, and a later transaction of the same process.
    expect(await end(pid, BigInt(opened) + 1n, isOwn ? null : began)).toBe(0);
    await attempt!.query('COMMIT; BEGIN');
    expect(await end(pid, opened, began)).toBe(0);
    const now = (await attempt!.query<{ began: string }>(sessionSql())).rows[0]!.began;
    const ended = new Promise<void>((resolve) => attempt!.once('end', resolve));
    expect(await end(pid, opened, isOwn ? null : now)).toBe(1);
    await ended;
  } finally {
    await engine!.end();
    await database.drop();
  }
});
