import type { Chart, Line } from './chart.js';
import type { Cell, Table } from './table.js';

/** Which columns of which table make a chart. */
export interface ChartPlan {
  /** Without `.svg`. */
  file: string;
  /** Name of the table. */
  table: string;
  title: string;
  subtitle: string;
  kind: Chart['kind'];
  /** One column of bars, or one for each mark of a range. */
  columns: readonly string[];
  markNames?: readonly string[];
  digits?: number;
  /** Columns that together name a line. */
  labels: readonly Label[];
  /** Only rows in which this column has this text, or, negated, has not. */
  only?: { column: string; is?: string; isNot?: string };
}

interface Label {
  column: string;
  /** What is made of its text; nothing: it is left out. */
  shown?: (text: string) => string;
}

const SYSTEM: Label = { column: 'system' };
const PROCESSES: Label = {
  column: 'processes',
  shown: (text) => `${text} ${text === '1' ? 'process' : 'processes'}`,
};
const BESIDE: Label = {
  column: 'beside',
  shown: (text) => (text === '0' ? '' : `beside ${text}`),
};

/** @param prefix of the three columns */
function latenessPlan(file: string, title: string, prefix: string): ChartPlan {
  return {
    file,
    table: 'lateness',
    title,
    subtitle: 'handler start minus due, in ms, on a scale of powers of ten; less is better',
    kind: 'ranges',
    markNames: ['p50', 'p99', 'max'],
    digits: 1,
    columns: ['p50', 'p99', 'max'].map((column) => prefix + column),
    labels: [SYSTEM, { column: 'rate/s', shown: (text) => `${text}/s` }, BESIDE],
  };
}

const DRAINED = {
  kind: 'bars',
  columns: ['delays/s'],
  labels: [SYSTEM, PROCESSES],
  only: { column: 'beside', is: '0' },
} as const;

export const CHART_PLANS: readonly ChartPlan[] = [
  {
    file: 'enqueue',
    table: 'enqueue',
    title: 'Enqueue one by one',
    subtitle: 'delays per second from one process, each call awaits its commit; more is better',
    kind: 'bars',
    columns: ['per second'],
    labels: [SYSTEM],
    only: { column: 'a call', is: 'one' },
  },
  {
    file: 'enqueue-bulk',
    table: 'enqueue',
    title: 'Enqueue in bulk',
    subtitle: 'delays per second from one process, one call at a time; more is better',
    kind: 'bars',
    columns: ['per second'],
    labels: [SYSTEM, { column: 'a call', shown: (text) => `${text} a call` }],
    only: { column: 'a call', isNot: 'one' },
  },
  {
    file: 'cancel',
    table: 'cancel',
    title: 'Cancel by key',
    subtitle: 'cancels per second from one process, each awaits its commit; more is better',
    kind: 'bars',
    columns: ['per second'],
    labels: [SYSTEM, { column: 'transaction', shown: (text) => `transaction ${text}` }],
  },
  {
    file: 'drain',
    table: 'drain',
    title: 'Drain of due delays',
    subtitle: 'delays per second, handlers that do nothing; more is better',
    ...DRAINED,
  },
  {
    file: 'drain-standing',
    table: 'drain-standing',
    title: 'Drain by workers that are up',
    subtitle: 'delays per second, all due at the same moment; more is better',
    ...DRAINED,
  },
  {
    file: 'drain-backlog',
    table: 'drain',
    title: 'Drain beside delays of the far future',
    subtitle: 'as a ratio to the own drain without them; 1 is best',
    kind: 'bars',
    columns: ['ratio'],
    digits: 2,
    labels: [SYSTEM, PROCESSES, BESIDE],
    only: { column: 'beside', isNot: '0' },
  },
  latenessPlan('lateness', 'Lateness while others schedule', ''),
  latenessPlan('lateness-after', 'Lateness once scheduling has ended', 'after '),
  {
    file: 'idle',
    table: 'idle',
    title: 'Idle',
    subtitle: 'CPU seconds of the server while nothing is due; less is better',
    kind: 'bars',
    columns: ['server CPU s'],
    digits: 2,
    labels: [SYSTEM, { column: 'pending', shown: (text) => `${text} pending` }],
  },
];

/** What the project itself is called in the tables. */
const OURS = /^ours\b/;

/** @returns nothing when the table has no row for it. @throws when it lacks one of the columns */
export function chartOf(plan: ChartPlan, table: Table, footer: string): Chart | undefined {
  const columnOf = (title: string): number => {
    const index = table.columns.indexOf(title);
    if (index >= 0) return index;
    throw new Error(`the table '${table.name}' has no column '${title}'`);
  };
  const { only } = plan;
  const lines = table.rows
    .filter((row) => {
      if (only === undefined) return true;
      const found = row[columnOf(only.column)];
      return only.is === undefined ? found !== only.isNot : found === only.is;
    })
    .map((row): Line => {
      const said = (title: string): string => wordsOf(row[columnOf(title)]);
      return {
        label: plan.labels
          .map(({ column, shown = (text: string) => text }) => shown(said(column)))
          .filter((part) => part !== '')
          .join(' · '),
        highlighted: OURS.test(wordsOf(row[0])),
        marks: plan.columns.map((title) => figuresOf(row[columnOf(title)])),
      };
    })
    .filter(({ marks }) => marks.flat().some((value) => Number.isFinite(value)));
  if (lines.length === 0) return undefined;
  const { title, subtitle, kind, digits = 0, markNames = [] } = plan;
  return { title, subtitle, kind, digits, markNames, lines, footer };
}

const wordsOf = (cell: Cell | undefined): string => (typeof cell === 'string' ? cell : '');

/** JSON has no NaN: what could not be told is null there. */
const figuresOf = (cell: Cell | undefined): number[] =>
  typeof cell === 'object' ? cell.values.map((value: number | null) => value ?? Number.NaN) : [];
