import { readsTrouble } from '../core/diagnosis.js';
import {
  type BacklogReason,
  type DatabaseReason,
  describeError,
  type HealthReason,
  type HealthReport,
  type HealthStatus,
  inWords,
  type NodeReason,
} from '../core/index.js';
import { judge, LOADS_MISSED_MAX } from '../core/ops.js';
import { late, silent, unserved } from './checks/delays.js';
import { describeHolder, judgeHolder, SIZE_CHECKS } from './checks/vacuum.js';
import type { SilentNode } from './checks/delays.sql.js';
import type { RelationRow } from './checks/vacuum.sql.js';
import { countText } from './checks/words.js';
import type { HealthLimits } from './checks/health-limits.js';
import type { BacklogRow, Holding } from './health.sql.js';
import type { Noticed } from './noticed.js';
import type { Backlog, ServerReadings } from './readings.js';

/** What a node knows of itself. */
export interface NodeReadings {
  state: 'starting' | 'running' | 'closing' | 'stopped';
  worker: WorkerReadings | undefined;
}

interface WorkerReadings {
  /** Instants on the monotonic clock, NaN if there is none yet. */
  loads: { everyMs: number; workedAtMs: number; endedAtMs: number };
  isIdle: boolean;
  callsOf(name: string): { running: number; concurrency: number } | undefined;
}

/** A clock that was corrected by less is no reason to look. */
const JUMP_MS = 1_000;

/** A failure that goes away with the next try is none. */
const FAILING_FOR_MS = 5_000;

/** Stuck for this many loads, and no less than a minute: a restart would help. */
const STUCK_LOADS = 6;
const STUCK_MS_MIN = 60_000;

/** The worst first; within a status, as they were found. */
export function toReport(reasons: readonly HealthReason[]): HealthReport {
  const down = reasons.filter(({ status }) => status === 'down');
  const degraded = reasons.filter(({ status }) => status === 'degraded');
  const status: HealthStatus = down.length > 0 ? 'down' : degraded.length > 0 ? 'degraded' : 'up';
  return { status, reasons: [...down, ...degraded] };
}

/** What the node knows without asking. */
export function nodeReasons({ state, worker }: NodeReadings, noticed: Noticed): NodeReason[] {
  if (state !== 'running') {
    const text = `the node is ${state === 'stopped' ? 'stopped' : `still ${state}`}`;
    return [{ reason: 'notRunning', status: 'down', text, state }];
  }
  const zones = [...noticed.zones].map(([zone, text]): NodeReason => ({
    reason: 'zoneDiffers',
    status: 'degraded',
    text,
    zone,
  }));
  return [
    ...loadsMissing(worker),
    ...describeFailures(noticed),
    ...describeJump(noticed),
    ...zones,
  ];
}

function loadsMissing(worker: WorkerReadings | undefined): NodeReason[] {
  if (worker === undefined || worker.isIdle) return [];
  const { everyMs, workedAtMs } = worker.loads;
  const sinceMs = performance.now() - workedAtMs;
  if (!(sinceMs > everyMs * LOADS_MISSED_MAX)) return [];
  const text = `no load has been answered for ${inWords(sinceMs)}: other nodes take over what this one owns`;
  return [{ reason: 'loadsMissing', status: 'degraded', text, sinceMs: Math.round(sinceMs) }];
}

const describeFailures = (noticed: Noticed): NodeReason[] =>
  noticed
    .failures()
    .filter(({ forMs }) => forMs >= FAILING_FOR_MS)
    .map(({ task, forMs: exactMs, error }): NodeReason => {
      const told = { status: 'degraded' as const, forMs: Math.round(exactMs), error };
      const forWords = inWords(exactMs);
      if (task === 'listen') {
        const text = `LISTEN has not worked for ${forWords}: ${error}`;
        return { reason: 'listenLost', ...told, text };
      }
      return {
        reason: 'taskFailing',
        ...told,
        task,
        text: `${task} has been failing for ${forWords}: ${error}`,
      };
    });

function describeJump({ jump }: Noticed): NodeReason[] {
  if (jump === undefined || Math.abs(jump.byMs) < JUMP_MS) return [];
  const [byMs, agoMs] = [Math.round(jump.byMs), Math.round(jump.agoMs)];
  const how = byMs > 0 ? 'forward' : 'back';
  const text = `the clock of the database jumped ${how} by ${inWords(Math.abs(byMs))}, ${inWords(agoMs)} ago`;
  return [{ reason: 'clockJumped', status: 'degraded', text, byMs, agoMs }];
}

/** A process that no load of which ends, well or badly, stands still: a restart would help. */
export function isStuck({ state, worker }: NodeReadings): { sinceMs: number } | undefined {
  if (state !== 'running' || worker === undefined || worker.isIdle) return undefined;
  const { everyMs, endedAtMs } = worker.loads;
  const sinceMs = performance.now() - endedAtMs;
  return sinceMs > Math.max(STUCK_MS_MIN, everyMs * STUCK_LOADS) ? { sinceMs } : undefined;
}

/** What the database says of the backlog. */
export function backlogReasons(
  { vitals, names }: Backlog,
  { lateAfterMs, heldAfterMs, deadLettersMax }: HealthLimits,
  worker: WorkerReadings | undefined,
): (BacklogReason | DatabaseReason)[] {
  const readOnly: DatabaseReason[] = vitals.isReadOnly
    ? [{ reason: 'databaseReadOnly', status: 'down', text: 'the database accepts no writes' }]
    : [];
  const overdue = names
    .filter(({ heldBy, oldestMs }) => oldestMs > (heldBy === null ? lateAfterMs : heldAfterMs))
    .map((row) => describeOverdue(row, worker));
  const dead = describeDeadLetters(vitals.dead, deadLettersMax);
  return [...readOnly, ...overdue, ...dead, ...vitals.silentNodes.map(describeSilent)];
}

function describeOverdue(row: BacklogRow, worker: WorkerReadings | undefined): BacklogReason {
  if (row.heldBy !== null) return describeHeld(row, row.heldBy);
  return row.isServed ? describeLate(row, worker) : describeUnserved(row);
}

function describeHeld({ name, overdue, oldestMs }: BacklogRow, by: Holding): BacklogReason {
  const oldestHeldMs = Math.round(oldestMs);
  const text = `a ${by} holds ${countText(overdue)} of ${name}, the oldest for ${inWords(oldestHeldMs)}`;
  return { reason: 'held', status: 'degraded', text, name, by, held: overdue, oldestHeldMs };
}

function describeLate(row: BacklogRow, worker: WorkerReadings | undefined): BacklogReason {
  const { name, overdue: count, oldestMs } = row;
  const { running, concurrency } = worker?.callsOf(name) ?? { running: null, concurrency: null };
  const here = running === null ? '' : `; this node runs ${running} of at most ${concurrency}`;
  return {
    reason: 'late',
    status: 'degraded',
    text: late({ name, count, oldestMs }).found + here,
    name,
    late: count,
    oldestLateMs: Math.round(oldestMs),
    running,
    concurrency,
  };
}

function describeUnserved({ name, overdue: count, oldestMs }: BacklogRow): BacklogReason {
  const text = unserved({ name, count, oldestMs }).found;
  const oldestLateMs = Math.round(oldestMs);
  return { reason: 'unserved', status: 'degraded', text, name, late: count, oldestLateMs };
}

function describeDeadLetters(dead: number, deadLettersMax: number): BacklogReason[] {
  if (dead <= deadLettersMax) return [];
  const text = `${dead} dead ${dead === 1 ? 'letter' : 'letters'}, more than ${deadLettersMax}`;
  return [{ reason: 'deadLetters', status: 'degraded', text, dead, deadLettersMax }];
}

function describeSilent({ node, silentMs: exactMs }: SilentNode): BacklogReason {
  const silentMs = Math.round(exactMs);
  const text = `${silent(node, silentMs).found}: it was killed, hangs, or has lost the database`;
  return { reason: 'nodeSilent', status: 'degraded', text, node, silentMs };
}

/** The database did not answer, or refused. */
export function databaseGone(error: unknown): DatabaseReason {
  const described = describeError(error);
  const text = `${readsTrouble(error)}: ${described}`;
  return { reason: 'databaseGone', status: 'down', text, error: described };
}

/** What the server says of its own work. */
export function serverReasons(
  { holder, relations }: ServerReadings,
  { snapshotAfterMs }: HealthLimits,
): DatabaseReason[] {
  const reasons: DatabaseReason[] = [];
  const forMs = Math.round(holder?.heldMs ?? 0);
  if (holder !== undefined && forMs > snapshotAfterMs) {
    const text = `${judgeHolder(holder).found}: vacuum removes no newer dead row`;
    const held = { holder: describeHolder(holder), forMs };
    reasons.push({ reason: 'snapshotHeld', status: 'degraded', text, ...held });
  }
  return [...reasons, ...relations.flatMap(describeRelation)];
}

function describeRelation(relation: RelationRow): DatabaseReason[] {
  const { table, rows, deadRows, isVacuumed } = relation;
  const bytes = relation.bytes + relation.indexBytes;
  const reasons: DatabaseReason[] = [];
  if (!isVacuumed) {
    const text = `autovacuum is off for ${table}`;
    reasons.push({ reason: 'autovacuumOff', status: 'degraded', text, table });
  }
  const sizes = judge(SIZE_CHECKS, relation);
  if (sizes.length > 0) {
    const text = sizes.map(({ found }) => found).join('; ');
    const figures = { table, rows, deadRows, bytes };
    reasons.push({ reason: 'bloated', status: 'degraded', text, ...figures });
  }
  return reasons;
}
