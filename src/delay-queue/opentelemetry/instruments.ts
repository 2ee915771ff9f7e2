import type { Attributes } from '@opentelemetry/api';
import type { DelayFigures, HealthReason, OverdueFigures } from '../core/index.js';
import { ATTRIBUTES, SYSTEM } from './names.js';

/*
 * Each instrument: its name, unit and description; then the bounds of its buckets, the attributes that it
 * counts by, or how it reads the figures of a node.
 */

type Instrument<More> = readonly [name: string, unit: string, description: string, ...More[]];

const common = (name: string): string => `messaging.${name}`;
const own = (name: string): string => `messaging.${SYSTEM}.${name}`;

/** Buckets of the conventions. */
const DURATION_SECONDS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];

/** From a millisecond, which a node on time keeps to, up to an hour of standing still. */
const LATENESS_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 60, 600, 3_600,
];

const LATENESS = 'Start of a first attempt minus due, on the clock of the database';
const CALLS = 'How long calls of DelayService took';

export const HISTOGRAMS = {
  processDuration: [common('process.duration'), 's', 'How long handlers ran', DURATION_SECONDS],
  operationDuration: [common('client.operation.duration'), 's', CALLS, DURATION_SECONDS],
  lateness: [own('lateness'), 's', LATENESS, LATENESS_SECONDS],
} as const satisfies Record<string, Instrument<number[]>>;

const { operationName: operation, destination: name, errorType: error } = ATTRIBUTES;
const { outcome, statement } = ATTRIBUTES;

export const COUNTERS = {
  sent: [common('client.sent.messages'), '{message}', 'Delays scheduled', operation, name, error],
  consumed: [common('client.consumed.messages'), '{message}', 'Attempts started', operation, name],
  attempts: [own('attempts'), '{attempt}', 'Attempts ended, by outcome', operation, name, outcome],
  skipped: [own('skipped'), '{instant}', 'Instants that recurring delays left out', name],
  statements: [own('statements'), '{statement}', 'Statements of the loop', statement, error],
  statementRows: [own('statement.rows'), '{row}', 'Rows claimed, read or written', statement],
} as const satisfies Record<string, Instrument<string>>;

export const GAUGES = {
  running: [own('running'), '{attempt}', 'Calls of handlers that run here'],
  concurrency: [own('concurrency'), '{attempt}', 'Most that run here at a time'],
  ready: [own('ready'), '{message}', 'Due delays that wait for a slot here'],
  watched: [own('watched'), '{message}', 'Delays in the timing wheel of this node'],
  loadAge: [own('load.age'), 's', 'Since the last load was answered'],
  overdue: [own('overdue'), '{message}', 'Due delays of all nodes, by what holds them'],
  oldestOverdue: [own('overdue.oldest'), 's', 'How long the oldest of them has been due'],
  dueSoon: [own('due_within_minute'), '{message}', 'Delays of all nodes due within a minute'],
  deadLetters: [own('dead_letters'), '{message}', 'Dead letters of all nodes'],
  unhealthy: [own('unhealthy'), '{reason}', 'Reasons why the node is not up'],
  connections: [own('connections'), '{connection}', 'Connections of the engine, by state'],
} as const satisfies Record<string, Instrument<never>>;

/** One value of a gauge, and what it is of. */
export interface Value {
  of: Attributes;
  value: number;
}

/** Undefined: not known now. Those of the backlog are known while the database answers. */
export type GaugeValues = Record<keyof typeof GAUGES, readonly Value[] | undefined>;

const one = (value: number, of: Attributes = {}): Value => ({ value, of });

/** The figures are those that the node has: showing them waits for nothing. */
export function gaugeValues(figures: DelayFigures, reasons: readonly HealthReason[]): GaugeValues {
  const { names, ready, watched, loadAgeMs, backlog, connections } = figures;
  const overdue = backlog?.overdue.map((each) => ({ ...each, of: overdueBy(each) }));
  return {
    running: names.map((each) => one(each.running, { [name]: each.name })),
    concurrency: names.map((each) => one(each.concurrency, { [name]: each.name })),
    ready: [one(ready)],
    watched: [one(watched)],
    loadAge: loadAgeMs === null ? undefined : [one(loadAgeMs / 1_000)],
    overdue: overdue?.map((each) => one(each.overdue, each.of)),
    oldestOverdue: overdue?.map((each) => one(each.oldestMs / 1_000, each.of)),
    dueSoon: backlog ? [one(backlog.dueSoon)] : undefined,
    deadLetters: backlog ? [one(backlog.dead)] : undefined,
    unhealthy: reasons.map((reason) => one(1, unhealthyBy(reason))),
    connections: [
      one(connections.used, { [ATTRIBUTES.state]: 'used' }),
      one(connections.idle, { [ATTRIBUTES.state]: 'idle' }),
    ],
  };
}

const overdueBy = ({ heldBy, isServed, ...each }: OverdueFigures): Attributes => ({
  [name]: each.name,
  [ATTRIBUTES.heldBy]: heldBy ?? 'nothing',
  [ATTRIBUTES.served]: isServed,
});

const unhealthyBy = (reason: HealthReason): Attributes => ({
  [ATTRIBUTES.reason]: reason.reason,
  [ATTRIBUTES.status]: reason.status,
  ...('name' in reason && { [name]: reason.name }),
});
