import { type DelayStats, inWords, printable } from '../../core/index.js';
import {
  type Finding,
  notice,
  ok,
  problem,
  reader,
  type TextAnswer,
  ZoneStore,
} from '../../core/ops.js';
import {
  EXPIRED,
  expiredLeasesSql,
  SILENT,
  silentNodesSql,
  UNREADABLE,
  unreadableSql,
} from './delays.sql.js';
import type { Examined } from './look.js';
import { judgeConnections } from './server.js';
import { countText, PROGRAM, shellWord } from './words.js';

/** Delays of a name that are due. */
interface Overdue {
  name: string;
  count: number;
  oldestMs: number;
}

const overdueText = ({ name, count }: Overdue): string =>
  `${countText(count)} of ${name} ${count === 1 ? 'is' : 'are'}`;

export const late = (its: Overdue): Finding =>
  problem('late', `${overdueText(its)} late, the oldest by ${inWords(its.oldestMs)}`, {
    means: 'No pause and no limit holds them: the nodes have no slot for them, or hang.',
    todo: `${PROGRAM} list --name ${shellWord(its.name)} --state scheduled; then explain one of them.`,
  });

export const unserved = (its: Overdue, more = ''): Finding =>
  problem(
    'unserved',
    `${overdueText(its)} due, the oldest for ${inWords(its.oldestMs)}, and no live node serves the name`,
    {
      means: 'They wait until a node with its handler runs.',
      todo: `Start a node that has a handler of this name, or cancel them.${more}`,
    },
  );

/** @param held delays of which it has a lease */
export function silent(node: string, silentMs: number, held = 0): Finding {
  const found = `the node ${printable(node)} has been silent for ${inWords(silentMs)}`;
  return held > 0
    ? problem('nodes', `${found} and holds ${countText(held)}`, {
        means: 'Other nodes take them over when their leases end.',
        todo: 'If its process hangs, kill it: that is safe at any time.',
      })
    : notice('nodes', found, {
        means: 'Its process was killed, hangs, or cannot reach the database.',
        todo: 'If it hangs, kill it. Its row is removed automatically.',
      });
}

/** A database does not know that it was restored from another; that no node lives is a sign. */
const IF_COPY =
  ' If this database is a restored copy, its first node runs all that is due, as production would: empty the tables first, see Backup and restore in docs/operations.md.';

/** Names that are late or without a node, dead letters, pauses, connections, nodes. */
export async function findInDelays(on: Examined): Promise<Finding[]> {
  const { runner: _, slowly, server, tables, aliveMs } = on;
  const stats = await on.stats();
  const rows = await slowly.query<TextAnswer>(silentNodesSql(tables), [aliveMs]);
  const found = judgeStats(stats, server.nowMs, on.limits);
  const live = new Set(stats.nodes.map(({ name }) => name));
  const gone = rows.map(reader(SILENT)).filter(({ node }) => !live.has(node));
  const { names, nodes } = stats;
  const summary = `${countText(names.length, 'name')}, ${countText(nodes.length, 'live node')}: all are served, nothing is late, and nothing is dead`;
  return [
    ...(found.length > 0 ? found : [ok('delays', summary)]),
    judgeConnections(server, live.size),
    ...(gone.length > 0
      ? gone.map(({ node, silentMs, held }) => silent(node, silentMs, held))
      : [ok('nodes', 'no node is silent')]),
  ];
}

function judgeStats(
  { names, nodes, pauses }: DelayStats,
  nowMs: number,
  { lateAfterMs, heldAfterMs }: Examined['limits'],
): Finding[] {
  const more = nodes.length === 0 ? IF_COPY : '';
  const byName = names.flatMap((its): Finding[] => {
    const { name, overdue, late: count, oldestLateMs } = its;
    const oldestMs = oldestLateMs ?? 0;
    const waiting = its.scheduled + its.retrying;
    if (its.nodes > 0) return oldestMs > lateAfterMs ? [late({ name, count, oldestMs })] : [];
    if (overdue > 0) return [unserved({ name, count: overdue, oldestMs }, more)];
    if (waiting === 0) return [];
    const wait = `${countText(waiting)} ${waiting === 1 ? 'waits' : 'wait'}`;
    return [
      notice('unserved', `no live node serves ${name}, of which ${wait}`, {
        means: 'They will be late unless a node serves the name by then.',
        todo: `Start a node that has a handler of this name.${more}`,
      }),
    ];
  });
  const dead = names.flatMap(({ name, dead: count }) =>
    count === 0
      ? []
      : notice('dead-letters', `${name} has ${countText(count, 'dead letter')}`, {
          means: 'All their attempts failed: they wait for a person.',
          todo: `${PROGRAM} list --name ${shellWord(name)} --state dead; then retry or cancel them.`,
        }),
  );
  const forgotten = pauses.flatMap(({ name, group, reason, pausedAt, until }) => {
    const sinceMs = nowMs - pausedAt.getTime();
    if (until !== null || sinceMs < heldAfterMs) return [];
    const what = group === null ? name : `the group ${group} of ${name}`;
    const option = group === null ? '' : ` --group ${shellWord(group)}`;
    return notice(
      'paused',
      `${what} has been paused for ${inWords(sinceMs)}, with no end time: ${reason ?? 'no reason given'}`,
      {
        means: 'None of its delays start. The pause may have been forgotten.',
        todo: `${PROGRAM} resume ${shellWord(name)}${option}`,
      },
    );
  });
  return [...byName, ...dead, ...forgotten];
}

export async function findUnreadable({ slowly, tables }: Examined): Promise<Finding[]> {
  const rows = await slowly.query<TextAnswer>(unreadableSql(tables), []);
  return rows.map(reader(UNREADABLE)).map(({ why, count, example }) =>
    problem('rows', `${countText(count)} cannot be read, such as id ${example}: ${why}`, {
      means: 'No node runs them: they were written or changed by hand.',
      todo: 'Correct the column by hand, then retry; or cancel them.',
    }),
  );
}

export async function findExpiredLeases({ slowly, tables, limits }: Examined): Promise<Finding[]> {
  const rows = await slowly.query<TextAnswer>(expiredLeasesSql(tables), [limits.lateAfterMs]);
  return rows.map(reader(EXPIRED)).map(({ node, count, example }) =>
    problem(
      'leases',
      `${countText(count)} of ${node}, such as id ${example}, ${count === 1 ? 'has lost its lease' : 'have lost their leases'}, and no node takes over`,
      {
        means: 'No live node serves the name, all its slots are taken, or a session holds the row.',
        todo: `${PROGRAM} list --id ${example} says what it waits for.`,
      },
    ),
  );
}

/** On this session, which is new: a pooled one may hold old rules. */
export async function findZones({ runner, schema }: Examined): Promise<Finding[]> {
  const store = new ZoneStore(runner, schema);
  const zones = await store.zones();
  const differences: string[] = [];
  for (const zone of zones) {
    const difference = await store.differenceIn(zone);
    if (difference !== undefined) differences.push(difference);
  }
  if (differences.length > 0) return differences.map((text) => problem('time-zones', text));
  const agreed = countText(zones.length, 'time zone');
  return [ok('time-zones', `this Node and the database agree on ${agreed} of recurring delays`)];
}
