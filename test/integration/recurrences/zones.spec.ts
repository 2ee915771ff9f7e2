import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayHealth } from 'nestjs-delay-queue';
import { type DelayNode, plainHandler } from '../../support/delay-node.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { repeated } from '../../support/repeated.js';
import { Stage } from '../engine/support/stage.js';
import { examine, parse, withSession } from '../../support/command-line.js';

const NAME = 'test.zoned';
const HOUR_MS = 3_600_000;

/** Zones on which the releases of tzdata disagree, and some that they leave alone. */
const ZONES =
  'America/Vancouver America/Edmonton America/Winnipeg America/Inuvik America/Havana Africa/Casablanca Europe/Chisinau Europe/Berlin Australia/Lord_Howe Asia/Kathmandu UTC'.split(
    ' ',
  );

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
});

afterAll(() => stage.close());

/** Each hour of the first two years, the one by one way that the node avoids. */
async function differs(zone: string, firstMs: number): Promise<boolean> {
  const format = new Intl.DateTimeFormat('sv', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
  });
  const rows = await stage.sql<{ at: string; local: string }>(
    `SELECT (extract(epoch FROM t) * 1000)::bigint::text AS at, to_char(timezone($1, t), 'YYYY-MM-DD HH24:MI') AS local
     FROM generate_series(to_timestamp($2::float8 / 1000), to_timestamp($2::float8 / 1000) + interval '727 days', interval '1 hour') AS t`,
    [zone, firstMs],
  );
  return rows.some(({ at, local }) => format.format(Number(at)) !== local);
}

let expected: string[];

beforeAll(async () => {
  const firstMs = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
  expected = [];
  for (const zone of ZONES) if (await differs(zone, firstMs)) expected.push(zone);
}, 60_000);

const handler = () => plainHandler(NAME, () => {});

const warned = (logger: RecordingLogger): string[] =>
  logger
    .lines('warn')
    .flatMap(
      (line) =>
        /the time zone (\S+) differs: at \S+Z this process counts UTC[+-]/.exec(line)?.[1] ?? [],
    )
    .toSorted();

const reasonsOf = async ({ app }: DelayNode): Promise<string[]> =>
  (await app.get(DelayHealth).check()).reasons
    .map((reason) => ('zone' in reason ? reason.zone : reason.reason))
    .toSorted();

it('a node warns of each declared time zone that it counts otherwise than the database, and its health says so', async () => {
  const logger = new RecordingLogger();
  const declared = ZONES.map((timeZone) => ({ cron: '0 9 * * *', timeZone, key: timeZone }));
  const node = await stage.start({ providers: [repeated(handler(), NAME, ...declared)], logger });
  expect(warned(logger)).toEqual(expected.toSorted());
  expect(await reasonsOf(node)).toEqual(expected.toSorted());
  await node.stop();
});

it('one that finds the zones in rows warns of them, and doctor finds each', async () => {
  const logger = new RecordingLogger();
  const node = await stage.start({ providers: [handler()], logger, options: { deployment: 'b' } });
  expect(warned(logger)).toEqual(expected.toSorted());
  await node.stop();
  const given = parse(['doctor']);
  const environment = { DATABASE_URL: stage.url };
  const found = await withSession({ given, environment }, (session) => examine(session, '1'));
  const zones = found
    .filter(({ check, level }) => check === 'time-zones' && level === 'problem')
    .map((finding) => /the time zone (\S+) differs/.exec(finding.found)?.[1] ?? '');
  expect(zones.toSorted()).toEqual(expected.toSorted());
});

it('a call that makes a delay recur in such a zone warns, once', async () => {
  await stage.truncate('delay');
  const logger = new RecordingLogger();
  const node = await stage.start({ providers: [handler()], logger });
  expect(warned(logger)).toEqual([]);
  for (const timeZone of [...ZONES, ...ZONES]) {
    const repeat = { cron: '0 9 * * *', timeZone };
    await node.delays.schedule(NAME, null, { key: timeZone, repeat });
  }
  await node.stop();
  expect(warned(logger)).toEqual(expected.toSorted());
});

describe('a due time that other zone data has computed', () => {
  /** Nine there by rules of which this node knows nothing: an hour more ahead of UTC. */
  const ZONE = 'Asia/Kathmandu';
  const [OWN, THEIRS] = [345, 405];
  const nine = (() => {
    const day = Math.floor(Date.now() / 86_400_000) + 3;
    return day * 86_400_000 + 9 * HOUR_MS;
  })();
  const dueMs = nine - THEIRS * 60_000;

  const plant = (key: string, more: object, columns: object = {}) => {
    const repeat = {
      cron: '0 9 * * *',
      timeZone: ZONE,
      catchUp: 'latest',
      from: dueMs,
      offset: THEIRS,
      tz: '2000a',
      ...more,
    };
    const row = { attempts: 0, due: dueMs, leased_by: null, ...columns };
    return stage.sql(
      `INSERT INTO delay_queue.delay (name, key, payload, due_at, wake_at, created_at, repeat, attempts, leased_by, leased_until)
       VALUES ($1, $2, '1', to_timestamp($3::float8 / 1000), to_timestamp($3::float8 / 1000), now(), $4, $5, $6::text,
               CASE WHEN $6::text IS NOT NULL THEN now() + interval '1 h' END)`,
      [NAME, key, row.due, repeat, row.attempts, row.leased_by],
    );
  };

  it('stands as declared, and for a call that says the same rule', async () => {
    await stage.truncate('delay');
    await plant('declared', { tz: '9999z', declared: true });
    await plant('called', { tz: '9999z' });
    const rule = { cron: '0 9 * * *', timeZone: ZONE };
    const node = await stage.start({
      providers: [repeated(handler(), NAME, { ...rule, key: 'declared' })],
    });
    const { dueAt } = await node.delays.schedule(NAME, null, { key: 'called', repeat: rule });
    const found = await node.delays.find(NAME, 'declared');
    expect([dueAt, found?.dueAt, found?.moveLog]).toEqual([new Date(dueMs), new Date(dueMs), []]);
    const rows = await stage.sql<{ offset: number }>(
      `SELECT (repeat -> 'offset')::int AS offset FROM delay_queue.delay`,
    );
    expect(rows.map(({ offset }) => offset)).toEqual([THEIRS, THEIRS]);
    await node.stop();
  });

  it('moves to the same time of day, by newer data alone and where it waits for that', async () => {
    await stage.truncate('delay');
    await plant('older', {});
    await plant('newer', { tz: '9999z' });
    await plant('equal', { offset: OWN, from: nine - OWN * 60_000 }, { due: nine - OWN * 60_000 });
    await plant('moved', {}, { due: dueMs + 60_000 });
    await plant('failed', {}, { attempts: 1 });
    await plant('runs', {}, { leased_by: 'other' });
    await plant('unknown', { timeZone: 'Mars/Olympus' });
    const node = await stage.start({ providers: [handler()] });
    const found = await Promise.all(
      ['older', 'newer', 'equal', 'moved', 'failed', 'runs', 'unknown'].map((key) =>
        node.delays.find(NAME, key),
      ),
    );
    const byHours = found.map((info) => (info!.dueAt.getTime() - dueMs) / 60_000);
    expect(byHours).toEqual([60, 0, 60, 1, 0, 0, 0]);
    expect(found[0]?.moveLog).toMatchObject([
      { call: 'timeZone', from: new Date(dueMs), to: new Date(dueMs + HOUR_MS) },
    ]);
    const [row] = await stage.sql<{ repeat: object }>(
      `SELECT repeat FROM delay_queue.delay WHERE key = 'older'`,
    );
    expect(row?.repeat).toMatchObject({ from: dueMs + HOUR_MS, offset: OWN });
    await node.stop();
  });
});
