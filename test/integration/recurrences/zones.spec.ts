import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { plainHandler } from '../../support/delay-node.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { repeated } from '../../support/repeated.js';
import { Stage } from '../engine/support/stage.js';

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

it('a node warns of each declared time zone that it counts otherwise than the database', async () => {
  const logger = new RecordingLogger();
  const declared = ZONES.map((timeZone) => ({ cron: '0 9 * * *', timeZone, key: timeZone }));
  const firstMs = Math.ceil(Date.now() / HOUR_MS) * HOUR_MS;
  const expected: string[] = [];
  for (const zone of ZONES) if (await differs(zone, firstMs)) expected.push(zone);
  await stage.start({
    providers: [
      repeated(
        plainHandler(NAME, () => {}),
        NAME,
        ...declared,
      ),
    ],
    logger,
  });
  const warned = logger
    .lines('warn')
    .flatMap(
      (line) =>
        /the time zone (\S+) differs: at \S+Z this node counts UTC[+-]/.exec(line)?.[1] ?? [],
    );
  expect(warned.toSorted()).toEqual(expected.toSorted());
});
