import { parseArgs } from 'node:util';
import { DRAIN_HANDLERS, type HandlerKind } from './adapters/adapter.js';
import { VACUUM_NAMES, type VacuumName } from './churn-settings.js';
import type { Ahead } from './endurance/delays.js';
import { listed, UsageError, whole, wholes, words } from './option-values.js';

export { UsageError } from './option-values.js';

/** What can be measured, in the order in which `npm run bench` does it. */
export const SCENARIOS = [
  'wheel',
  'enqueue',
  'cancel',
  'drain',
  'overdue',
  'groups',
  'tenants',
  'rate-limit',
  'admin',
  'burst',
  'shop',
  'lateness',
  'commit',
  'attempt',
  'main-job',
  'in-transaction',
  'plans',
  'churn',
  'endurance',
  'idle',
] as const;
export type ScenarioName = (typeof SCENARIOS)[number];

/** What `churn` compares: fillfactors as fast as it goes, or vacuums at a steady rate. */
const CHURN_KINDS = ['fillfactor', 'vacuum'] as const;
export type ChurnKind = (typeof CHURN_KINDS)[number];

/**
 * Whether the workers of `drain` have never run anything, have done so and start when the delays are due, or are up and
 * wait for them.
 */
const WORKERS = ['cold', 'starting', 'standing'] as const;
export type Workers = (typeof WORKERS)[number];

const OPTIONS = {
  rounds: { type: 'string', default: '5' },
  systems: { type: 'string', default: '' },
  json: { type: 'string' },
  charts: { type: 'string', default: '' },
  'charts-into': { type: 'string', default: 'docs/performance' },
  help: { type: 'boolean', default: false },
  count: { type: 'string', default: '50000' },
  processes: { type: 'string', default: '1' },
  workers: { type: 'string', default: 'cold' },
  handlers: { type: 'string', default: 'async' },
  concurrency: { type: 'string', default: 'default,1000' },
  backlog: { type: 'string', default: '0' },
  calls: { type: 'string', default: '20000' },
  'in-flight': { type: 'string', default: '50' },
  bulk: { type: 'string', default: '1000,10000' },
  'bulk-count': { type: 'string', default: '100000' },
  overdue: { type: 'string', default: '100000' },
  'burst-orders': { type: 'string', default: '10000' },
  'burst-skus': { type: 'string', default: '200' },
  'burst-batch': { type: 'string', default: '200' },
  rates: { type: 'string', default: '200,1000' },
  seconds: { type: 'string' },
  'orders-per-second': { type: 'string', default: '100' },
  connections: { type: 'string', default: '50' },
  pending: { type: 'string', default: '0' },
  'churn-count': { type: 'string', default: '200000' },
  'churn-waiting': { type: 'string', default: '20000' },
  fillfactors: { type: 'string', default: '100,90,70,50' },
  churn: { type: 'string', default: 'fillfactor' },
  vacuums: { type: 'string', default: VACUUM_NAMES.join() },
  'churn-rate': { type: 'string', default: '1000' },
  'churn-seconds': { type: 'string', default: '60' },
  'churn-keep': { type: 'string', default: '15' },
  'idle-pending': { type: 'string', default: '100000' },
  'idle-seconds': { type: 'string', default: '30' },
  orders: { type: 'string', default: '10000' },
  'limit-seconds': { type: 'string', default: '60' },
  'endurance-rate': { type: 'string', default: '2000' },
  'endurance-seconds': { type: 'string', default: '1800' },
  ahead: { type: 'string', default: '60,600' },
  'hold-snapshot': { type: 'boolean', default: false },
} as const;

/** Sizes of a run; the defaults are those of the published figures. */
export interface Settings {
  scenarios: readonly ScenarioName[];
  rounds: number;
  /** Only systems whose name contains one of these; empty: all. */
  systems: readonly string[];
  /** File that gets the results as JSON. */
  json: string | undefined;
  /** Results of earlier runs to be drawn; then nothing is measured. */
  charts: readonly string[];
  /** Folder of the drawings. */
  chartsInto: string;
  /** Due delays that `drain` empties. */
  count: number;
  /** Of `drain` and `burst`. */
  processes: readonly number[];
  /** Of `drain`: a table for each. */
  workers: readonly Workers[];
  /** Of `drain`: what handlers do. */
  handlers: readonly HandlerKind[];
  /** Of `drain`: handlers at a time, where a system lets one choose; undefined: as it comes. The other scenarios take the last. */
  concurrency: readonly (number | undefined)[];
  /** Rows far in the future beside a second drain; 0: no second one. */
  backlog: number;
  /** Calls of `enqueue` and `cancel`, and how many of them wait for their answer at a time. */
  calls: number;
  inFlight: number;
  /** Delays of one call, and of all calls together, when `enqueue` schedules many at once. */
  bulkSizes: readonly number[];
  bulkCount: number;
  /** Delays that are overdue when a node starts. */
  overdue: number;
  /** Orders that time out in the same second, what they hold, and orders of one handler call. */
  burstOrders: number;
  burstSkus: number;
  burstBatch: number;
  ratesPerSecond: readonly number[];
  /** How long `lateness` and `commit` schedule, and `idle` watches. */
  seconds: number;
  idleSeconds: number;
  /** Orders that `main-job` closes. */
  orders: number;
  /** How long nodes run under a limit in `rate-limit`. */
  limitSeconds: number;
  /** How long `shop` orders at that pace, and how many order at a time as fast as it goes. */
  shopSeconds: number;
  ordersPerSecond: number;
  connections: readonly number[];
  /** Rows far in the future that stand beside those of `lateness` and `overdue`, and of `idle`. */
  pending: readonly number[];
  idlePending: readonly number[];
  /** Delays that pass through the table in one `churn`, and how many wait in it at a time. */
  churnCount: number;
  churnWaiting: number;
  fillfactors: readonly number[];
  churnKinds: readonly ChurnKind[];
  vacuums: readonly VacuumName[];
  /** Delays per second of `churn --churn vacuum`, for how long, and how long history keeps them. */
  churnRate: number;
  churnSeconds: number;
  churnKeepSeconds: number;
  /** Delays per second of `endurance`, for how long, how far ahead, and whether a snapshot is held in the middle. */
  enduranceRate: number;
  enduranceSeconds: number;
  ahead: Ahead;
  holdsSnapshot: boolean;
}

/** @returns `'help'` when that is what was asked for. @throws UsageError */
export function parseCommandLine(args: string[]): Settings | 'help' {
  const { values, positionals } = parse(args);
  if (values.help) return 'help';
  const wholeOf = (option: Counted, least: number): number => whole(option, values[option], least);
  const wholesOf = (option: Counted, least: number): number[] =>
    wholes(option, values[option], least);
  // Each scenario has a time of its own until it is told one.
  const seconds = (unless: number): number =>
    values.seconds === undefined ? unless : whole('seconds', values.seconds, 1);
  return {
    scenarios: scenariosOf(positionals),
    rounds: wholeOf('rounds', 1),
    systems: listed(values.systems),
    json: values.json,
    charts: listed(values.charts),
    chartsInto: values['charts-into'],
    count: wholeOf('count', 1),
    processes: wholesOf('processes', 1),
    workers: words('workers', values.workers, WORKERS),
    handlers: words('handlers', values.handlers, DRAIN_HANDLERS),
    concurrency: values.concurrency
      .split(',')
      .map((text) => (text === 'default' ? undefined : whole('concurrency', text, 1))),
    backlog: wholeOf('backlog', 0),
    calls: wholeOf('calls', 1),
    inFlight: wholeOf('in-flight', 1),
    bulkSizes: wholesOf('bulk', 1),
    bulkCount: wholeOf('bulk-count', 1),
    overdue: wholeOf('overdue', 1),
    burstOrders: wholeOf('burst-orders', 1),
    burstSkus: wholeOf('burst-skus', 2),
    burstBatch: wholeOf('burst-batch', 1),
    ratesPerSecond: wholesOf('rates', 1),
    seconds: seconds(10),
    idleSeconds: wholeOf('idle-seconds', 1),
    orders: wholeOf('orders', 1),
    limitSeconds: wholeOf('limit-seconds', 6),
    shopSeconds: seconds(120),
    ordersPerSecond: wholeOf('orders-per-second', 1),
    connections: wholesOf('connections', 1),
    pending: wholesOf('pending', 0),
    idlePending: wholesOf('idle-pending', 0),
    churnCount: wholeOf('churn-count', 1_000),
    churnWaiting: wholeOf('churn-waiting', 1_000),
    fillfactors: wholesOf('fillfactors', 10),
    churnKinds: words('churn', values.churn, CHURN_KINDS),
    vacuums: words('vacuums', values.vacuums, VACUUM_NAMES),
    churnRate: wholeOf('churn-rate', 1),
    churnSeconds: wholeOf('churn-seconds', 3),
    churnKeepSeconds: wholeOf('churn-keep', 1),
    enduranceRate: wholeOf('endurance-rate', 1),
    enduranceSeconds: wholeOf('endurance-seconds', 6),
    ahead: aheadOf(wholesOf('ahead', 1)),
    holdsSnapshot: values['hold-snapshot'],
  };
}

/** @throws UsageError */
function aheadOf([fromS, toS]: readonly number[]): Ahead {
  if (fromS !== undefined && toS !== undefined && fromS < toS) return { fromS, toS };
  throw new UsageError('--ahead takes two numbers of seconds, the smaller one first.');
}

/** Options that always have a text. */
type Counted = Exclude<keyof typeof OPTIONS, 'json' | 'help' | 'seconds' | 'hold-snapshot'>;

function parse(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function scenariosOf(names: readonly string[]): readonly ScenarioName[] {
  const unknown = names.find((name) => !SCENARIOS.some((scenario) => scenario === name));
  if (unknown !== undefined) {
    throw new UsageError(`There is no scenario '${unknown}'; there are ${SCENARIOS.join(', ')}.`);
  }
  if (names.length === 0) return SCENARIOS;
  return SCENARIOS.filter((scenario) => names.includes(scenario));
}
