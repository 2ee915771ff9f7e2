import { describeError, inWords, printable } from '../api/error-text.js';
import type { HealthLimits } from '../config/health-limits.js';
import type {
  BacklogReason,
  DatabaseReason,
  HealthReason,
  HealthReport,
  HealthStatus,
  NodeReason,
} from '../api/health.js';
import { readsTrouble } from '../database/trouble.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import type { BacklogRow, SilentNode } from '../store/sql/health.sql.js';
import {
  hasDeadRows,
  hasWideIndexes,
  type HolderRow,
  type RelationRow,
} from '../store/sql/server.sql.js';
import type { Backlog, Noticed, ServerReadings } from './readings.js';

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
export function reportOf(reasons: readonly HealthReason[]): HealthReport {
  const down = reasons.filter(({ status }) => status === 'down');
  const degraded = reasons.filter(({ status }) => status === 'degraded');
  const status: HealthStatus = down.length > 0 ? 'down' : degraded.length > 0 ? 'degraded' : 'up';
  return { status, reasons: [...down, ...degraded] };
}

/** What the node knows without asking. */
export function reasonsOfNode({ state, worker }: NodeReadings, noticed: Noticed): NodeReason[] {
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
  return [...loadsMissing(worker), ...failuresOf(noticed), ...jumpOf(noticed), ...zones];
}

function loadsMissing(worker: WorkerReadings | undefined): NodeReason[] {
  if (worker === undefined || worker.isIdle) return [];
  const { everyMs, workedAtMs } = worker.loads;
  const sinceMs = performance.now() - workedAtMs;
  if (!(sinceMs > everyMs * LOADS_MISSED_MAX)) return [];
  const text = `no load has been answered for ${inWords(sinceMs)}: other nodes take over what this one owns`;
  return [{ reason: 'loadsMissing', status: 'degraded', text, sinceMs: Math.round(sinceMs) }];
}

const failuresOf = (noticed: Noticed): NodeReason[] =>
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
        text: `${task} fails for ${forWords}: ${error}`,
      };
    });

function jumpOf({ jump }: Noticed): NodeReason[] {
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
export function reasonsOfBacklog(
  { vitals, names }: Backlog,
  { lateAfterMs, heldAfterMs, deadLettersMax }: HealthLimits,
  worker: WorkerReadings | undefined,
): (BacklogReason | DatabaseReason)[] {
  const readOnly: DatabaseReason[] = vitals.isReadOnly
    ? [{ reason: 'databaseReadOnly', status: 'down', text: 'the database accepts no writes' }]
    : [];
  const late = names
    .filter(({ heldBy, oldestMs }) => oldestMs > (heldBy === null ? lateAfterMs : heldAfterMs))
    .map((row) => overdueOf(row, worker));
  const dead = deadLettersOf(vitals.dead, deadLettersMax);
  return [...readOnly, ...late, ...dead, ...vitals.silentNodes.map(silentOf)];
}

const delays = (count: number): string => `${count} ${count === 1 ? 'delay' : 'delays'}`;

function overdueOf(row: BacklogRow, worker: WorkerReadings | undefined): BacklogReason {
  if (row.heldBy !== null) return heldOf(row, row.heldBy);
  return row.isServed ? lateOf(row, worker) : unservedOf(row);
}

function heldOf({ name, overdue, oldestMs }: BacklogRow, by: 'pause' | 'limit'): BacklogReason {
  const oldestHeldMs = Math.round(oldestMs);
  const text = `a ${by} holds ${delays(overdue)} of ${name}, the oldest for ${inWords(oldestHeldMs)}`;
  return { reason: 'held', status: 'degraded', text, name, by, held: overdue, oldestHeldMs };
}

function lateOf(row: BacklogRow, worker: WorkerReadings | undefined): BacklogReason {
  const { name, overdue: late } = row;
  const oldestLateMs = Math.round(row.oldestMs);
  const { running, concurrency } = worker?.callsOf(name) ?? { running: null, concurrency: null };
  const here = running === null ? '' : `; this node runs ${running} of at most ${concurrency}`;
  const text = `${delays(late)} of ${name} ${late === 1 ? 'is' : 'are'} late, the oldest by ${inWords(oldestLateMs)}${here}`;
  return {
    reason: 'late',
    status: 'degraded',
    text,
    name,
    late,
    oldestLateMs,
    running,
    concurrency,
  };
}

function unservedOf({ name, overdue: late, oldestMs }: BacklogRow): BacklogReason {
  const oldestLateMs = Math.round(oldestMs);
  const text = `${delays(late)} of ${name} ${late === 1 ? 'is' : 'are'} due, the oldest for ${inWords(oldestLateMs)}, and no live node serves it`;
  return { reason: 'unserved', status: 'degraded', text, name, late, oldestLateMs };
}

function deadLettersOf(dead: number, deadLettersMax: number): BacklogReason[] {
  if (dead <= deadLettersMax) return [];
  const text = `${dead} dead ${dead === 1 ? 'letter' : 'letters'}, more than ${deadLettersMax}`;
  return [{ reason: 'deadLetters', status: 'degraded', text, dead, deadLettersMax }];
}

function silentOf({ node, silentMs: exactMs }: SilentNode): BacklogReason {
  const silentMs = Math.round(exactMs);
  const text = `the node ${printable(node)} has been silent for ${inWords(silentMs)}: it was killed, hangs, or has lost the database`;
  return { reason: 'nodeSilent', status: 'degraded', text, node, silentMs };
}

/** The database did not answer, or refused. */
export function goneOf(error: unknown): DatabaseReason {
  const described = describeError(error);
  const text = `${readsTrouble(error)}: ${described}`;
  return { reason: 'databaseGone', status: 'down', text, error: described };
}

/** What the server says of its own work. */
export function reasonsOfServer(
  { holder, relations }: ServerReadings,
  { snapshotAfterMs }: HealthLimits,
): DatabaseReason[] {
  const reasons: DatabaseReason[] = [];
  if (holder !== undefined && (holder.heldMs ?? 0) > snapshotAfterMs) {
    const forMs = Math.round(holder.heldMs ?? 0);
    const text = `${nameOf(holder)} holds a snapshot for ${inWords(forMs)}: vacuum removes no newer dead row`;
    reasons.push({
      reason: 'snapshotHeld',
      status: 'degraded',
      text,
      holder: nameOf(holder),
      forMs,
    });
  }
  for (const relation of relations) reasons.push(...bloatOf(relation));
  return reasons;
}

const nameOf = ({ kind, name, role, state }: HolderRow): string =>
  `${kind} ${name}${kind === 'session' ? ` of ${role ?? 'unknown'}, ${state ?? 'unknown'}` : ''}`;

function bloatOf(relation: RelationRow): DatabaseReason[] {
  const { table, rows, deadRows, bytes, indexBytes, isVacuumed } = relation;
  const reasons: DatabaseReason[] = [];
  if (!isVacuumed) {
    const text = `autovacuum is off for ${table}`;
    reasons.push({ reason: 'autovacuumOff', status: 'degraded', text, table });
  }
  if (hasDeadRows(relation) || hasWideIndexes(relation)) {
    const all = bytes + indexBytes;
    const text = `${table} takes ${Math.round(all / 1e6)} MB for ${rows} rows and ${deadRows} dead ones`;
    reasons.push({
      reason: 'bloated',
      status: 'degraded',
      text,
      table,
      rows,
      deadRows,
      bytes: all,
    });
  }
  return reasons;
}
