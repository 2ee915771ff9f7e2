import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { Delay } from 'nestjs-delay-queue';
import { fakeDate } from './support/fake-date.js';
import { TestedNode } from './support/tested.js';
import { Model, type Ran, RATE, type Step } from './support/virtual-time.js';

/**
 * Random programs of what a test can say, beside a model in a time of numbers: each instant that is seen is the model's, to
 * the millisecond, while `Date` is faked to it.
 */
const node = new TestedNode({
  'test.plain': {},
  'test.failing': {},
  'test.rated': { global: { rateLimit: { max: RATE.max, per: RATE.perMs } } },
});

beforeAll(() => fakeDate(new Date()));
afterAll(() => void jest.useRealTimers());

const NAMES = ['test.plain', 'test.failing', 'test.rated'] as const;

const name = fc.constantFrom(...NAMES);
const key = fc.constantFrom('1', '2', '3', '4');
const ms = fc.oneof(
  fc.constantFrom(0, 1, 999, 1_000, 3_600_000),
  fc.integer({ min: 0, max: 3 * 3_600_000 }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('schedule' as const),
    name,
    key,
    by: fc.constantFrom('after', 'at'),
    ms,
  }),
  fc.record({
    do: fc.constant('repeat' as const),
    key,
    everyMs: fc.integer({ min: 600_000, max: 7_200_000 }),
  }),
  fc.record({
    do: fc.constant('reschedule' as const),
    name,
    key,
    by: fc.constantFrom('after', 'at', 'extendBy'),
    // An extension by nothing is refused.
    ms: ms.map((of) => of + 1),
  }),
  fc.record({ do: fc.constant('cancel' as const), name, key }),
  fc.record({
    do: fc.constant('pause' as const),
    name,
    by: fc.constantFrom('for', 'until'),
    ms: ms.map((of) => of + 1),
  }),
  fc.record({ do: fc.constant('resume' as const), name }),
  fc.record({ do: fc.constant('advance' as const), by: fc.constantFrom('span', 'instant'), ms }),
);
const start = fc.date({
  min: new Date('2001-01-01'),
  max: new Date('2099-12-31'),
  noInvalidDate: true,
});

const in_ = (span: number): Date => new Date(Date.now() + span);

/** Does it to the queue; what is answered is a `dueAt`, or what ran. */
async function really(of: Step): Promise<number | Ran[] | undefined> {
  const { delays, admin, testing } = node;
  switch (of.do) {
    case 'schedule': {
      const when = of.by === 'after' ? { after: of.ms } : { at: in_(of.ms) };
      const { dueAt } = await delays.schedule(of.name, null, { ...when, key: of.key });
      return dueAt.getTime();
    }
    case 'repeat': {
      const repeat = { every: of.everyMs };
      const { dueAt } = await delays.schedule('test.plain', null, {
        repeat,
        key: `every ${of.key}`,
      });
      return dueAt.getTime();
    }
    case 'reschedule': {
      const to =
        of.by === 'at'
          ? { at: in_(of.ms) }
          : of.by === 'after'
            ? { after: of.ms }
            : { extendBy: of.ms };
      const moved = await delays.reschedule(of.name, of.key, to);
      return moved.verdict === 'absent' ? undefined : moved.dueAt.getTime();
    }
    case 'cancel':
      await delays.cancel(of.name, of.key);
      return undefined;
    case 'pause': {
      const { until } = await admin.pause(
        of.name,
        of.by === 'for' ? { for: of.ms } : { until: in_(of.ms) },
      );
      return until?.getTime();
    }
    case 'resume':
      await admin.resume(of.name);
      return undefined;
    default: {
      const ran =
        of.by === 'span' ? await testing.advance(of.ms) : await testing.advanceTo(in_(of.ms));
      return ran.map(({ name: its, key: of_, at, attempt, outcome }) => ({
        name: its,
        key: of_ as string,
        atMs: at.getTime(),
        attempt,
        outcome,
      }));
    }
  }
}

/** What lives, and what has ended, in order. */
async function there() {
  const live = await node.admin.list({});
  const history = await node.sql<{ key: string; ended_at: Date }>(
    `SELECT name || ' ' || key AS key, ended_at FROM delay_queue.history WHERE state = 'completed'`,
  );
  return {
    live: live
      .map(({ name: its, key: of, dueAt, createdAt, state }) =>
        [its, of, +dueAt, +createdAt, state].join(' '),
      )
      .toSorted(),
    ended: history.map((row) => `${row.key} ${+row.ended_at}`).toSorted(),
  };
}

/** Names that are due at one instant are claimed side by side: only within a name is their order promised. */
const byInstantAndName = (heard: readonly string[]): string[] =>
  heard.toSorted((a, b) => instantAndName(a).localeCompare(instantAndName(b)));

const instantAndName = (line: string): string => `${line.split(' ').at(-1)} ${line.split(' ')[0]}`;

/** Rare among random programs. */
const PAUSED_OVER_INSTANTS: [Date, Step[]] = [
  new Date('2001-01-01'),
  [
    { do: 'repeat', key: '1', everyMs: 600_000 },
    { do: 'pause', name: 'test.plain', by: 'for', ms: 1_500_000 },
    { do: 'advance', by: 'span', ms: 3_600_000 },
  ],
];

/** 0.999 of a token is there, and the rest takes one millisecond, but for what floats lose. */
const RATED_TO_THE_MILLISECOND: [Date, Step[]] = [
  new Date('2001-01-01'),
  [
    { do: 'schedule', name: 'test.rated', key: '1', by: 'after', ms: 0 },
    { do: 'schedule', name: 'test.rated', key: '3', by: 'after', ms: 999 },
    { do: 'advance', by: 'span', ms: 0 },
    { do: 'advance', by: 'span', ms: 1_000 },
  ],
];

it('is the time of a model, in whatever order things are said', async () => {
  await fc.assert(
    fc.asyncProperty(
      start,
      fc.array(step, { minLength: 4, maxLength: 14 }),
      async (from, steps) => {
        jest.setSystemTime(from);
        await node.testing.clear({ now: from });
        const unfollow = node.testing.onTime((now) => jest.setSystemTime(now));
        try {
          const model = new Model(from.getTime());
          const heard: string[] = [];
          const told = ({ name: its, key: of, dueAt, latenessMs, attempt }: Delay) =>
            heard.push([its, of, +dueAt, latenessMs, attempt, Date.now()].join(' '));
          for (const each of NAMES) node.does[each] = told;
          node.does['test.failing'] = (delay) => {
            told(delay);
            throw new Error('no');
          };
          for (const each of steps) {
            expect({ each, answer: await really(each) }).toEqual({
              each,
              answer: model.does(each),
            });
            expect(Date.now()).toBe(model.nowMs);
            expect(byInstantAndName(heard)).toEqual(byInstantAndName(model.heard));
            expect(await there()).toEqual(model.there());
          }
        } finally {
          unfollow();
          node.does = {};
        }
      },
    ),
    {
      numRuns: Number(process.env['VIRTUAL_TIME_RUNS'] ?? 30),
      examples: [PAUSED_OVER_INSTANTS, RATED_TO_THE_MILLISECOND],
    },
  );
});
