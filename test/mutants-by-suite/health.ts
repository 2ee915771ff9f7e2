import { type Mutant, patch } from './mutant.js';

const KEPT = 'ops/kept.ts';
const REPORT = 'ops/report.ts';
const SQL = 'ops/health.sql.ts';
const SILENT = 'ops/checks/delays.sql.ts';
const unit = ['unit/health/report'];
const integration = ['integration/health'];

/** Ways to call a sick node well, or a well one sick. */
export const HEALTH: Readonly<Record<string, Mutant>> = {
  'asks-for-each-caller': {
    about: 'sends its statements for each probe',
    patches: [
      patch(KEPT, 'this.#isOpen || performance.now() < this.#endsAtMs', 'this.#endsAtMs < 0'),
    ],
    tests: integration,
  },
  'looks-beside-a-look-that-hangs': {
    about:
      'takes one connection after the other from the engine while the database does not answer',
    patches: [patch(KEPT, 'const isKept = this.#isOpen || ', 'const isKept = ')],
    tests: unit,
  },
  'restarts-for-a-database': {
    about: 'takes a process whose loads fail for one that stands still',
    patches: [
      patch(
        REPORT,
        'const { everyMs, endedAtMs } = worker.loads;',
        'const { everyMs, workedAtMs: endedAtMs } = worker.loads;',
      ),
    ],
    tests: unit,
  },
  'misses-loads-while-idle': {
    about: 'calls a node sick that leaves the database alone',
    patches: [
      patch(
        REPORT,
        'if (worker === undefined || worker.isIdle) return [];',
        'if (worker === undefined) return [];',
      ),
    ],
    tests: unit,
  },
  'late-though-held': {
    about: 'calls delays late that a pause or a limit holds',
    patches: [patch(REPORT, 'heldBy === null ? lateAfterMs : heldAfterMs', 'lateAfterMs')],
    tests: integration,
  },
  'late-though-it-runs': {
    about: 'calls delays late that run',
    patches: [
      patch(SQL, 'FROM due d, clock WHERE d.since <= clock.now', 'FROM due d, clock WHERE true'),
    ],
    tests: integration,
  },
  'sees-the-oldest-crowd-alone': {
    about: 'finds no late delay of a name behind an older crowd of others',
    patches: [
      patch(
        SQL,
        'WHERE d.id = ANY ($2::bigint[]) AND',
        'WHERE d.id = ANY ($2::bigint[]) AND false AND',
      ),
    ],
    tests: integration,
  },
  'sorts-the-whole-backlog': {
    about: 'reads all that is overdue, by a plan that was made for an empty table',
    patches: [
      patch(
        SQL,
        'WHERE d.wake_at <= (SELECT now FROM clock)\n  ORDER BY d.wake_at, d.id\n  LIMIT $3::int',
        'WHERE $3::int > 0 AND d.wake_at <= (SELECT now FROM clock)\n  ORDER BY d.wake_at, d.id\n  LIMIT 10000',
      ),
    ],
    tests: ['integration/kept-plans'],
  },
  'serves-every-name': {
    about: 'does not tell a name that no node serves from a slow one',
    patches: [
      patch(
        REPORT,
        'row.isServed ? describeLate(row, worker) : describeUnserved(row)',
        'describeLate(row, worker)',
      ),
    ],
    tests: integration,
  },
  'ready-though-gone': {
    about: 'is up while the database does not answer',
    patches: [patch('ops/delay.health.ts', 'databaseGone(backlog.reason)', '')],
    tests: integration,
  },
  'forgets-the-first-failure': {
    about: 'counts the time of a failure from the last one',
    patches: [patch('ops/noticed.ts', 'this.#recent(task)?.sinceMs ?? nowMs', 'nowMs')],
    tests: unit,
  },
  'names-nodes-that-are-idle': {
    about: 'calls a node silent that has said how long it leaves the database alone',
    patches: [patch(SILENT, 'GREATEST(o.seen_at, o.idle_until)', 'o.seen_at')],
    tests: integration,
  },
  'never-forgets-a-node': {
    about: 'names a killed node until its row is deleted, a day later',
    patches: [patch(SQL, 's.silent_ms < ${aliveMs} + ${SILENT_TOLD_MS}::float8', 'true')],
    tests: integration,
  },
  'names-nodes-that-live': {
    about: 'calls a node silent between two heartbeats',
    patches: [patch(SILENT, 's.silent_ms > ${aliveMs}', 's.silent_ms > 0')],
    tests: integration,
  },
  'fails-for-a-minute-more': {
    about:
      'calls claims failing after they work, if the last one that got no answer was of one delay',
    patches: [
      patch(
        'core/worker/claimer.ts',
        'if (told !== error && isRefusedByServer(error))',
        'if (told !== error)',
      ),
    ],
    tests: ['unit/worker/claimer'],
  },
  'jumps-in-silence': {
    about: 'does not report that the clock of the database jumped',
    patches: [
      patch('core/worker/worker.ts', "this.setup.events.emit('clockJumped', { byMs });", ''),
    ],
    tests: integration,
  },
};
