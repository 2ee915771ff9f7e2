import type { Closer, RaceOptions } from './command-line.js';
import { latenessesOf, percentile, type Lateness } from './lateness.js';
import { LEASE_MS } from './plan.js';
import { elapsed } from './progress.js';
import type { RaceResult } from './race.js';
import type { Style } from './style.js';

const BROKEN_LINES_MAX = 6;

const CLOSED_BY: Record<Closer, string> = {
  'delay-queue': 'Orders are closed by this library.',
  naive: 'Orders are closed by a setTimeout in the process that took them: SELECT, then UPDATE.',
  cron: 'Orders are closed by a scan once a minute in each process: SELECT, then UPDATE.',
};

/** Printed before the race begins: what there is to see. */
export const headingOf = ({ orders, processes, seed, closer }: RaceOptions): string =>
  `${orders} orders are paid at the very moment they close, by ${processes} processes; ` +
  `one is paused, one is killed. Seed ${seed}.\n${CLOSED_BY[closer]}`;

export const reportOf = (result: RaceResult, style: Style): string =>
  [answersOf(result), latenessOf(result), checksOf(result, style), invariantsOf(result, style)]
    .map((lines) => `\n${lines.join('\n')}`)
    .join('\n');

/** How many rules are broken. */
export const brokenOf = ({ checks, invariants }: RaceResult): number =>
  checks.filter(({ broken }) => broken.length > 0).length +
  invariants.filter(({ ok }) => !ok).length;

export function verdictOf(result: RaceResult, { seed }: RaceOptions): string {
  const lines = result.checks.flatMap(({ broken }) => broken);
  const orders = new Set(lines.flatMap((line) => /^#\S+/.exec(line) ?? []));
  const verdict =
    brokenOf(result) === 0
      ? 'All of this holds.'
      : `${brokenOf(result)} of these do not hold; orders that are broken: ${orders.size}.`;
  return `${verdict} It took ${elapsed()}. The same orders, payments and faults again: --seed ${seed}`;
}

function answersOf({ ledger, picture }: RaceResult): string[] {
  const payments = ledger.orders.flatMap(({ payment }) => payment ?? []);
  const deadlines = new Map(ledger.orders.map(({ id, payDeadlineMs }) => [id, payDeadlineMs]));
  const apartMs = picture.payments.map(
    ({ orderId, capturedAtMs }) => capturedAtMs - (deadlines.get(orderId) ?? Number.NaN),
  );
  const near = apartMs.map(Math.abs).toSorted((a, b) => a - b);
  const within = (fraction: number): string => ms(percentile(near, fraction));
  const before = apartMs.filter((apart) => apart < 0).length;
  const answered = (status: string): number =>
    payments.filter(({ answer }) => answer?.status.startsWith(status)).length;
  const silent = payments.filter(({ answer }) => !answer).length;
  const again = payments.filter(({ asked }) => asked > 1).length;
  const orders = (status: string): number =>
    picture.orders.filter((order) => order.status === status).length;
  const money = (status: string): number =>
    picture.payments.filter((payment) => payment.status === status).length;
  return [
    `${apartMs.length} payments came, ${before} before the deadline of their order and ${apartMs.length - before} after it:`,
    `  half within ${within(0.5)} of it, 90% within ${within(0.9)}, all within ${within(1)}`,
    `What was answered: "paid" ${answered('CAPTURED')}, "too late, refunded" ${answered('REFUND')}` +
      `${silent > 0 ? `, nothing ${silent}` : ''}; asked twice, because no answer came: ${again}`,
    `What is true: orders PAID ${orders('PAID')}, CLOSED ${orders('CLOSED')}, UNPAID ${orders('UNPAID')}; ` +
      `payments kept ${money('CAPTURED')}, REFUNDED ${money('REFUNDED')}, REFUND_PENDING ${money('REFUND_PENDING')}`,
  ];
}

const HEADS = ['orders', 'p50', 'p99', 'max'];
const CELL = 9;

function latenessOf({ plan, ledger, picture }: RaceResult): string[] {
  const rows = latenessesOf(ledger, picture).filter(({ count }) => count > 0);
  const title = 'How late they were closed';
  const width = Math.max(title.length, ...rows.map(({ of }) => of.length + 2));
  const line = (first: string, cells: readonly string[]): string =>
    first.padEnd(width) + cells.map((cell) => cell.padStart(CELL)).join('');
  return [
    line(title, HEADS),
    ...rows.map((row) => line(`  ${row.of}`, cellsOf(row))),
    ...NOTES[plan.closer],
  ];
}

const cellsOf = ({ count, p50Ms, p99Ms, maxMs }: Lateness): string[] => [
  String(count),
  ...[p50Ms, p99Ms, maxMs].map(ms),
];

const NOTES: Record<Closer, string[]> = {
  'delay-queue': [
    `  What a process had begun passes to another after its lease: ${LEASE_MS / 1_000} s here, 30 s unless set.`,
  ],
  naive: [
    '  What is not in this table was never closed: a timer ends with its process. And between the SELECT',
    '  and the UPDATE of a close, or of a payment, the other one comes in.',
  ],
  cron: [
    '  A scan a minute: an order waits half a minute on average. Here one came towards the end of the race;',
    '  what came due after it is still open, and waits another minute.',
  ],
};

function checksOf({ checks }: RaceResult, style: Style): string[] {
  return [
    "The database, compared with the shop's answers",
    ...checks.flatMap(({ name, detail, broken }) => [
      rule(style, broken.length === 0, name, detail),
      ...broken.slice(0, BROKEN_LINES_MAX).map((line) => `      ${line}`),
      ...(broken.length > BROKEN_LINES_MAX
        ? [`      and ${broken.length - BROKEN_LINES_MAX} more`]
        : []),
    ]),
  ];
}

const invariantsOf = ({ invariants }: RaceResult, style: Style): string[] => [
  "The shop's own GET /invariants",
  ...invariants.map(({ name, ok, detail }) =>
    rule(style, ok, name, detail.replace(' looked at', '')),
  ),
];

const rule = (style: Style, ok: boolean, name: string, detail: string): string =>
  `  ${ok ? style.good('✓') : style.bad('✗')} ${name}: ${detail}`;

function ms(value: number): string {
  if (!Number.isFinite(value)) return '–';
  return value >= 1_000 ? `${(value / 1_000).toFixed(2)} s` : `${value.toFixed(1)} ms`;
}
