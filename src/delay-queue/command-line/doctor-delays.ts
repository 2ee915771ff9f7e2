import type { DelayStats, NameStats } from '../api/selection.js';
import type { ExpiredLease, SilentNode, Unreadable } from '../store/doctor.store.js';
import { PROGRAM } from './commands.js';
import { type Finding, notice, ok, problem } from './finding.js';
import { counted, duration } from './output.js';

/** What the counts say: names that are late or without a node, dead letters, pauses. */
export function statsFindings(
  { names, nodes, pauses }: DelayStats,
  nowMs: number,
  { lateMs, pauseMs: forgottenMs }: { lateMs: number; pauseMs: number },
): Finding[] {
  const findings = lateFindings(names, lateMs);
  for (const { name, nodes: serving, overdue, scheduled, retrying } of names) {
    if (serving > 0) continue;
    if (overdue > 0) {
      findings.push(
        problem('unserved', `${counted(overdue)} of ${name} are due, and no live node serves it`, {
          means: 'They wait until a node with its handler runs.',
          todo: `Start a node that has a handler of this name, or cancel them.${nodes.length === 0 ? IF_COPY : ''}`,
        }),
      );
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
        `${what} is paused for ${duration(sinceMs)}, without an end: ${reason ?? 'no reason given'}`,
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
  names
    .filter(({ nodes, oldestLateMs }) => nodes > 0 && (oldestLateMs ?? 0) > lateMs)
    .map(({ name, late, oldestLateMs }) =>
      problem(
        'late',
        `${name} is late: ${counted(late)} wait, the oldest for ${duration(oldestLateMs ?? 0)}`,
        {
          means: 'No pause and no limit holds them: the nodes have no slot for them, or hang.',
          todo: `${PROGRAM} list --name ${shellWord(name)} --state scheduled; then explain one of them.`,
        },
      ),
    );

/** As a shell reads it: a name may hold anything. */
const shellWord = (text: string): string =>
  /^[\w.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function nodeFindings(silent: readonly SilentNode[], live: ReadonlySet<string>): Finding[] {
  const gone = silent.filter(({ id }) => !live.has(id));
  if (gone.length === 0) return [ok('nodes', 'no node is silent')];
  return gone.map(({ id, silent_ms, held }) => {
    const found = `the node ${id} is silent for ${duration(Number(silent_ms))}`;
    return Number(held) > 0
      ? problem('nodes', `${found} and holds ${counted(Number(held))}`, {
          means: 'Other nodes take them over when their leases end.',
          todo: 'If its process hangs, kill it: that is safe at any time.',
        })
      : notice('nodes', found, {
          means: 'Its process was killed, hangs, or cannot reach the database.',
          todo: 'If it hangs, kill it. Its row goes by itself.',
        });
  });
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
