import type { DelayStats, NameStats } from '../core/index.js';
import type { ExpiredLease, SilentNode, Unreadable } from './doctor.store.js';
import { PROGRAM } from './commands.js';
import { type Finding, notice, ok, problem } from '../core/ops.js';
import { late, silent, unserved } from '../ops/checks/backlog.js';
import { counted, shellWord } from '../ops/checks/words.js';
import { duration } from './output.js';

/** What the counts say: names that are late or without a node, dead letters, pauses. */
export function statsFindings(
  { names, nodes, pauses }: DelayStats,
  nowMs: number,
  { lateMs, pauseMs: forgottenMs }: { lateMs: number; pauseMs: number },
): Finding[] {
  const findings = lateFindings(names, lateMs);
  for (const { name, nodes: serving, overdue, oldestLateMs, scheduled, retrying } of names) {
    if (serving > 0) continue;
    if (overdue > 0) {
      const found = unserved({ name, count: overdue, oldestMs: oldestLateMs ?? 0 });
      findings.push(nodes.length === 0 ? { ...found, todo: found.todo + IF_COPY } : found);
    } else if (scheduled + retrying > 0) {
      findings.push(
        notice(
          'unserved',
          `no live node serves ${name}, of which ${counted(scheduled + retrying)} wait`,
          {
            means: 'They will be late unless a node serves the name by then.',
            todo: `Start a node that has a handler of this name.${nodes.length === 0 ? IF_COPY : ''}`,
          },
        ),
      );
    }
  }
  for (const { name, dead } of names) {
    if (dead === 0) continue;
    findings.push(
      notice('dead-letters', `${name} has ${counted(dead, 'dead letter')}`, {
        means: 'All their attempts failed: they wait for a person.',
        todo: `${PROGRAM} list --name ${shellWord(name)} --state dead; then retry or cancel them.`,
      }),
    );
  }
  for (const { name, group, reason, pausedAt, until } of pauses) {
    const sinceMs = nowMs - pausedAt.getTime();
    if (until !== null || sinceMs < forgottenMs) continue;
    const what = group === null ? name : `the group ${group} of ${name}`;
    const option = group === null ? '' : ` --group ${shellWord(group)}`;
    findings.push(
      notice(
        'paused',
        `${what} has been paused for ${duration(sinceMs)}, with no end time: ${reason ?? 'no reason given'}`,
        {
          means: 'Nothing of it starts. It may have been forgotten.',
          todo: `${PROGRAM} resume ${shellWord(name)}${option}`,
        },
      ),
    );
  }
  if (findings.length === 0) {
    findings.push(
      ok(
        'delays',
        `${counted(names.length, 'name')}, ${counted(nodes.length, 'live node')}: all are served, nothing is late, and nothing is dead`,
      ),
    );
  }
  return findings;
}

/** A database does not know that it was restored from another; that no node lives is a sign. */
const IF_COPY =
  ' If this database is a restored copy, its first node runs all that is due, as production would: empty the tables first, see Backup and restore in docs/operations.md.';

/** Of names that live nodes serve. */
const lateFindings = (names: readonly NameStats[], lateMs: number): Finding[] =>
  names.flatMap(({ name, nodes, late: count, oldestLateMs }) =>
    nodes > 0 && oldestLateMs !== null && oldestLateMs > lateMs
      ? [late({ name, count, oldestMs: oldestLateMs })]
      : [],
  );

export function nodeFindings(nodes: readonly SilentNode[], live: ReadonlySet<string>): Finding[] {
  const gone = nodes.filter(({ id }) => !live.has(id));
  if (gone.length === 0) return [ok('nodes', 'no node is silent')];
  return gone.map(({ id, silent_ms, held }) => silent(id, Number(silent_ms), Number(held)));
}

export function unreadableFindings(unreadable: readonly Unreadable[]): Finding[] {
  if (unreadable.length === 0) return [ok('rows', 'every row can be read')];
  return unreadable.map(({ why, count, example }) =>
    problem('rows', `${counted(Number(count))} cannot be read, such as id ${example}: ${why}`, {
      means: 'No node runs them: they were written or changed by hand.',
      todo: 'Correct the column by hand, then retry; or cancel them.',
    }),
  );
}

/** What differs, in words, by time zone. */
export function zoneFindings(zones: ReadonlyMap<string, string | undefined>): Finding[] {
  const found = [...zones.values()].filter((text) => text !== undefined);
  if (found.length > 0) return found.map((text) => problem('time-zones', text));
  return [
    ok(
      'time-zones',
      `this Node and the database agree on ${counted(zones.size, 'time zone')} of recurring delays`,
    ),
  ];
}

export function leaseFindings(expired: readonly ExpiredLease[]): Finding[] {
  if (expired.length === 0) return [];
  return expired.map(({ node, count, example }) =>
    problem(
      'leases',
      `${counted(Number(count))} of ${node}, such as id ${example}, lost their lease and are not taken over`,
      {
        means: 'No live node serves the name, all its slots are taken, or a session holds the row.',
        todo: `${PROGRAM} list --id ${example} says what it waits for.`,
      },
    ),
  );
}
