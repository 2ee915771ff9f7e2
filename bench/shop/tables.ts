import { cellsOf, type Cell, type Column, figure, type Table } from '../report/table.js';
import { percentilesOf } from '../report/statistics.js';
import type { Answers } from './answers.js';
import type { Full, FullVariant } from './full.js';
import { CROWDS, OCCUPATIONS, type Occupation, type TimeSpent } from './sessions.js';
import type { TimerLateness } from './findings.js';
import type { ProcessHistory, Steady } from './steady.js';

const MEBIBYTE = 2 ** 20;

const LATENESS: readonly Column<TimerLateness>[] = [
  { title: 'fired', of: ({ fired }) => fired },
  { title: 'late p50 ms', of: ({ p50Ms }) => p50Ms, digits: 1 },
  { title: 'late p99 ms', of: ({ p99Ms }) => p99Ms, digits: 1 },
  { title: 'most ms', of: ({ maxMs }) => maxMs, digits: 1 },
];

const ANSWERS: readonly Column<Answers>[] = [
  { title: 'answers', of: ({ tookMs }) => tookMs.length },
  { title: 'p50 ms', of: ({ tookMs }) => percentilesOf(tookMs).p50Ms, digits: 1 },
  { title: 'p99 ms', of: ({ tookMs }) => percentilesOf(tookMs).p99Ms, digits: 1 },
  { title: 'most ms', of: ({ tookMs }) => percentilesOf(tookMs).maxMs, digits: 1 },
];

const ORDERS: readonly Column<Steady>[] = [
  { title: 'placed', of: ({ orders }) => orders.placed },
  { title: 'paid', of: ({ orders }) => orders.paid },
  { title: 'closed', of: ({ orders }) => orders.closed },
  { title: 'refunded', of: ({ orders }) => orders.refunded },
  { title: 'shop µs/order', of: ({ shopMicros }) => shopMicros },
  { title: 'server µs/order', of: ({ serverMicros }) => serverMicros },
  { title: 'statements/order', of: ({ statements }) => statements, digits: 1 },
];

interface Memory extends ProcessHistory {
  minutes: number;
}

const liveMiB = ({ readings }: ProcessHistory, moment: number): number =>
  (readings.at(moment)?.liveBytes ?? Number.NaN) / MEBIBYTE;

const MEMORY: readonly Column<Memory>[] = [
  { title: 'before MiB', of: (memory) => liveMiB(memory, 0), digits: 1 },
  { title: 'halfway MiB', of: (memory) => liveMiB(memory, 1), digits: 1 },
  { title: 'after MiB', of: (memory) => liveMiB(memory, 2), digits: 1 },
  {
    title: 'growth MiB/min',
    of: (memory) => (liveMiB(memory, 2) - liveMiB(memory, 0)) / memory.minutes,
    digits: 2,
  },
  {
    title: 'of the process, before',
    of: ({ readings }) => (readings.at(0)?.residentBytes ?? Number.NaN) / MEBIBYTE,
  },
  {
    title: 'after',
    of: ({ readings }) => (readings.at(2)?.residentBytes ?? Number.NaN) / MEBIBYTE,
  },
];

const FULL: readonly Column<Full>[] = [
  { title: 'orders/s', of: ({ perSecond }) => perSecond },
  { title: 'p50 ms', of: ({ answers }) => percentilesOf(answers.tookMs).p50Ms, digits: 1 },
  { title: 'p99 ms', of: ({ answers }) => percentilesOf(answers.tookMs).p99Ms, digits: 1 },
  { title: 'shop µs/order', of: ({ shopMicros }) => shopMicros },
  { title: 'server µs/order', of: ({ serverMicros }) => serverMicros },
  { title: 'bench µs/order', of: ({ benchMicros }) => benchMicros },
  { title: 'statements/order', of: ({ statements }) => statements, digits: 1 },
  { title: 'busiest process % of a core', of: ({ busiestProcess }) => busiestProcess * 100 },
  { title: 'machine %', of: ({ machine }) => machine * 100 },
];

const SPENT: readonly Column<TimeSpent>[] = [
  { title: 'at a time', of: ({ sessions }) => sessions, digits: 1 },
  ...(Object.keys(OCCUPATIONS) as Occupation[]).map((occupation) => ({
    title: `${occupation} %`,
    of: ({ shares }: TimeSpent) => shares[occupation] * 100,
  })),
];

export function steadyTables(steadies: readonly Steady[], perSecond: number): Table[] {
  const [minutes] = steadies.map((steady) => steady.minutes);
  const title = `The sample shop at ${figure(perSecond)} orders/s for ${figure((minutes ?? 0) * 60)} s`;
  const same = <T>(of: (steady: Steady) => readonly T[], named: (each: T) => string) =>
    byName(steadies.map(of), named);
  return [
    {
      name: 'shop-lateness',
      title: `${title}: timers`,
      notes: ['"late": begin of the handler minus due, by the history of the library'],
      columns: ['timer', ...LATENESS.map(({ title: column }) => column)],
      rows: same(
        ({ lateness }) => lateness,
        ({ name }) => name,
      ).map(([name, found]) => [name, ...cellsOf(LATENESS, found)]),
    },
    {
      name: 'shop-answers',
      title: `${title}: answers`,
      notes: [
        'open loop over connections that stay open; "/" and "/feed" each second, over a new one',
        'what has no answers is left out: without `npm run build` there is no page',
      ],
      columns: ['request', ...ANSWERS.map(({ title: column }) => column), 'unexpected'],
      rows: same(
        ({ answers }) => answers,
        ([request]) => request,
      ).map(([request, found]) => {
        const answers = found.map(([, each]) => each);
        return [request, ...cellsOf(ANSWERS, answers), shownUnexpected(answers)];
      }),
    },
    {
      name: 'shop-memory',
      title: `${title}: memory`,
      notes: [
        'what is reachable when all timers have ended and garbage is collected, and resident',
      ],
      columns: ['process', ...MEMORY.map(({ title: column }) => column)],
      rows: same(
        (steady) => steady.processes.map((each) => ({ ...each, minutes: steady.minutes })),
        ({ name }) => name,
      ).map(([name, found]) => [name, ...cellsOf(MEMORY, found)]),
    },
    {
      name: 'shop-orders',
      title: `${title}: orders`,
      notes: [
        'a third is paid, a third paid late or cancelled, a third left; µs of CPU for all of it',
      ],
      columns: ['orders', ...ORDERS.map(({ title: column }) => column), 'invariants'],
      rows: [['of all', ...cellsOf(ORDERS, steadies), shownBroken(steadies)]],
    },
  ];
}

export function fullTables(
  results: readonly { variant: FullVariant; measurements: Full[] }[],
): Table[] {
  return [
    {
      name: 'shop-full',
      title: 'Orders of the sample shop, as fast as they are answered',
      notes: [
        'timers are far off: placing alone. The bench itself needs a part of the machine, too',
      ],
      columns: [
        'orders of',
        'connections',
        ...FULL.map(({ title }) => title),
        'unexpected',
        'invariants',
      ],
      rows: results.map(({ variant, measurements }) => [
        ...variantCells(variant),
        ...cellsOf(FULL, measurements),
        shownUnexpected(measurements.map(({ answers }) => answers)),
        shownBroken(measurements),
      ]),
    },
    {
      name: 'shop-waits',
      title: 'What the sessions of the shop do meanwhile',
      notes: [
        'ten looks a second at pg_stat_activity, sessions that are not idle',
        '"row lock": waits for a transaction of another order; "WAL flush": for the disk, to commit or write',
        '"core": runs, or would if it had a core; "process": in a transaction, waits for the shop to say more',
      ],
      columns: [
        'orders of',
        'connections',
        'sessions',
        ...SPENT.map(({ title }) => title),
        'most of it',
      ],
      rows: results.flatMap(({ variant, measurements }) =>
        CROWDS.map((crowd) => {
          const spent = measurements.map((full) => full.spent[crowd]);
          return [...variantCells(variant), crowd, ...cellsOf(SPENT, spent), shownEvents(spent)];
        }),
      ),
    },
  ];
}

const variantCells = ({ skus, connections }: FullVariant): Cell[] => [
  `${skus} SKU${skus > 1 ? 's' : ''}`,
  figure(connections),
];

/** The figures of all rounds by name, in the order in which the first has them. */
function byName<T>(
  ofRounds: readonly (readonly T[])[],
  named: (each: T) => string,
): [name: string, found: T[]][] {
  const names = new Set(ofRounds.flat().map(named));
  return [...names].map((name) => [name, ofRounds.flat().filter((each) => named(each) === name)]);
}

const shownUnexpected = (answers: readonly Answers[]): string =>
  answers
    .map(({ unexpected }) => unexpected)
    .filter((text) => text !== '')
    .join('; ') || 'none';

function shownBroken(measurements: readonly { broken: readonly string[] }[]): string {
  const broken = new Set(measurements.flatMap((each) => each.broken));
  return broken.size === 0 ? 'hold' : [...broken].join('; ');
}

const EVENTS_SHOWN = 4;

/** Of the first round: names differ between rounds. */
const shownEvents = ([spent]: readonly TimeSpent[]): string =>
  (spent?.events ?? [])
    .slice(0, EVENTS_SHOWN)
    .map(([event, share]) => `${event} ${figure(share * 100)} %`)
    .join(', ');
