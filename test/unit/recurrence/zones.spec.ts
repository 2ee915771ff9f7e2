import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { CatchUp } from 'nestjs-delay-queue';
import {
  computedHere,
  firstDueMs,
  Recurrence,
  type StoredRepeat,
} from '../../../src/delay-queue/core/recurrence/recurrence.js';
import { cronIn } from '../../../src/delay-queue/core/recurrence/instants.js';
import { offsetIn, sameWallClock } from '../../../src/delay-queue/core/recurrence/zone-rules.js';

/**
 * Two releases of zone data: what one calls by a name has the rules of the first zone to one node,
 * and of the second to another. All change their clocks before four.
 */
const PAIRS = [
  ['America/Los_Angeles', 'America/Phoenix'],
  ['America/Edmonton', 'America/Winnipeg'],
  ['Europe/Berlin', 'Africa/Lagos'],
  ['Europe/Berlin', 'Africa/Johannesburg'],
  ['Australia/Lord_Howe', 'Australia/Brisbane'],
  ['UTC', 'Asia/Kathmandu'],
] as const;

const EXPRESSIONS = [
  '0 9 * * *',
  '0 9 * * MON-FRI',
  '0,30 9,10 * * *',
  '*/20 8-10 * * *',
  '15 5,17 * * *',
  '0 */6 * * *',
  '30 0 8 1,15 * *',
];

const YEAR_MS = 365 * 86_400_000;

const start = fc
  .nat(YEAR_MS)
  .map((ms) => Date.parse('2026-02-01T12:00:00Z') + Math.floor(ms / 60_000) * 60_000);
/** Which of the nodes ends each run, and how late that is. */
const runs = fc.array(
  fc.record({ node: fc.nat(1), lateMs: fc.constantFrom(0, 30_000, 5_000_000) }),
  {
    minLength: 20,
    maxLength: 60,
  },
);

/** What the clock showed, as an instant of UTC. */
const wallOf = ({ from, offset }: StoredRepeat): number => from! + offset! * 60_000;

interface History {
  /** What the clocks showed at the runs, and at what was told as left out. */
  walls: number[];
  skipped: number;
}

/** The same row, by turns as the nodes see it. */
function history(
  pair: readonly string[],
  { cron, catchUp }: { cron: string; catchUp: CatchUp },
  firstMs: number,
  all: readonly { node: number; lateMs: number }[],
): History {
  const seenBy = (node: number) => ({ cron, catchUp, timeZone: pair[node]! });
  let dueMs = firstDueMs(seenBy(0), firstMs);
  let computed: object = computedHere(seenBy(0), dueMs);
  let nowMs = dueMs;
  const found: History = { walls: [], skipped: 0 };
  for (const { node, lateMs } of all) {
    const repeat = { ...seenBy(node), ...computed } as StoredRepeat;
    const recurrence = new Recurrence(repeat);
    nowMs = Math.max(nowMs, dueMs) + lateMs;
    const standsFor = recurrence.standsFor(dueMs, nowMs);
    const isOwn = standsFor === dueMs;
    found.walls.push(
      isOwn ? wallOf(repeat) : standsFor + offsetIn(pair[node]!)(standsFor) * 60_000,
    );
    const goesOn = recurrence.goesOn('ran', dueMs, standsFor, nowMs);
    found.skipped += goesOn.skipped?.count ?? 0;
    computed = goesOn.more;
    dueMs = goesOn.nextMs!;
  }
  return found;
}

/** The instants of the expression by the hands of a clock that never changes. */
const wanted = (cron: string, fromMs: number, toMs: number): number[] => {
  const instants = cronIn(cron, 'UTC');
  const all = [fromMs];
  while (all.at(-1)! < toMs) all.push(instants.after(all.at(-1)!)!);
  return all;
};

const pair = fc
  .constantFrom(...PAIRS)
  .chain((both) => fc.shuffledSubarray([...both], { minLength: 2 }));
const cron = fc.constantFrom(...EXPRESSIONS);

it('whichever node ends a run, no time of day runs twice, and with `each` none is left out', () => {
  fc.assert(
    fc.property(pair, cron, start, runs, (both, text, firstMs, all) => {
      const { walls } = history(both, { cron: text, catchUp: 'each' }, firstMs, all);
      expect(walls).toEqual(wanted(text, walls[0]!, walls.at(-1)!));
    }),
    { numRuns: 300 },
  );
});

it('with `latest` and `none`, what does not run is told as left out', () => {
  const catchUps = fc.constantFrom<CatchUp>('latest', 'none');
  fc.assert(
    fc.property(pair, cron, start, runs, catchUps, (both, text, firstMs, all, catchUp) => {
      const { walls, skipped } = history(both, { cron: text, catchUp }, firstMs, all);
      expect(walls).toEqual([...new Set(walls)].toSorted((one, other) => one - other));
      const between = wanted(text, walls[0]!, walls.at(-1)!).length - walls.length;
      expect(skipped).toBeGreaterThanOrEqual(between);
    }),
    { numRuns: 300 },
  );
});

it('every hour alike, it goes by instants: nothing comes twice or an hour late', () => {
  const hourly = fc.constantFrom('0 * * * *', '*/15 * * * *');
  fc.assert(
    fc.property(pair, hourly, start, runs, (both, text, firstMs, all) => {
      const periodMs = text.startsWith('0') ? 3_600_000 : 900_000;
      const of = (node: number) =>
        ({ cron: text, catchUp: 'each', timeZone: both[node]! }) as const;
      fc.pre(
        both.every((zone) => offsetIn(zone)(firstMs) % 60 === 0 && zone !== 'Australia/Lord_Howe'),
      );
      let dueMs = firstDueMs(of(0), firstMs);
      for (const { node } of all) {
        const { nextMs, more } = new Recurrence(of(node)).goesOn('ran', dueMs, dueMs, dueMs);
        expect([nextMs! - dueMs, more]).toEqual([periodMs, {}]);
        dueMs = nextMs!;
      }
    }),
    { numRuns: 50 },
  );
});

const at = (zone: string, ms: string, minutes: number): string =>
  new Date(sameWallClock(zone, Date.parse(ms), minutes)).toISOString();

it('the same hands of a clock: in an hour that comes twice the first, in one that is skipped as before', () => {
  expect([
    at('America/Vancouver', '2026-01-10T17:00Z', -480),
    at('America/Los_Angeles', '2026-01-10T16:00Z', -420),
    at('Europe/Berlin', '2026-10-25T02:30Z', 0),
    at('Europe/Berlin', '2026-03-29T02:30Z', 0),
    at('Asia/Kathmandu', '2026-03-29T02:30Z', 0),
  ]).toEqual([
    '2026-01-10T17:00:00.000Z',
    '2026-01-10T17:00:00.000Z',
    '2026-10-25T00:30:00.000Z',
    '2026-03-29T01:30:00.000Z',
    '2026-03-28T20:45:00.000Z',
  ]);
});

it('a time of day that falls on the instant of the run by these rules is left out like any other', () => {
  const dueMs = Date.parse('2026-01-10T17:00Z');
  const recurrence = new Recurrence({
    cron: '0 9,10 * * *',
    timeZone: 'America/Phoenix',
    catchUp: 'latest',
    from: dueMs,
    offset: -480,
  });
  const nowMs = Date.parse('2026-01-11T16:30Z');
  expect(recurrence.goesOn('ran', dueMs, dueMs, nowMs)).toMatchObject({
    nextMs: Date.parse('2026-01-11T16:00Z'),
    skipped: { count: 1, fromMs: dueMs, toMs: dueMs },
  });
});
