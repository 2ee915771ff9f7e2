import { spread } from '../../../../src/delay-queue/store/wire/ownership.js';
import type { Sessions } from '../sessions.js';
import {
  byWake,
  microsOf,
  msText,
  plusMs,
  textOrNull,
  wakeOf,
  type NodeRow,
  type Row,
} from '../row.js';
import type { Tables } from '../tables.js';
import { listOf, type Statement } from './statement.js';

/** The names a node serves, how many nodes serve each, and which of them this node is. */
type ShareColumns = [names: string[], counts: number[], ranks: number[]];

const sharesOf = (parameters: readonly unknown[]): ShareColumns =>
  parameters.slice(0, 3).map(listOf) as unknown as ShareColumns;

function isOwn(row: Row, [names, counts, ranks]: ShareColumns): boolean {
  const at = names.indexOf(row.name);
  return at >= 0 && spread(row.id) % (counts[at] ?? 1) === ranks[at];
}

const wakesJson = (rows: readonly Row[]): string =>
  JSON.stringify(rows.map((row) => [row.id, row.epoch, row.name, wakeOf(row), endedOf(row)]));

/** How the latest attempt ended: 0 none failed, 1 it failed, 2 without a word. */
function endedOf(row: Row): 0 | 1 | 2 {
  if (row.leasedBy !== null) return 2;
  return row.lastError === null ? 0 : 1;
}

const isAfter = (row: Row, wakeAt: number, id: number): boolean =>
  row.wakeAt === wakeAt ? row.id > id : row.wakeAt > wakeAt;

const asJson = (node: NodeRow): unknown[] => [node.id, node.names];

/** The load, with the heartbeat. */
export const loadOf =
  (tables: Tables, sessions: Sessions): Statement =>
  (tx, parameters) => {
    const [node, ...shared] = parameters as [string, ...unknown[]];
    const shares = sharesOf(shared);
    const [markMs, markId, horizonMs, limit, withinMs, isPresent] = shared.slice(3) as [
      ...number[],
      boolean,
    ];
    const [names] = shares;
    const others = [...tables.nodes.values()].filter(
      (other) =>
        other.id !== node &&
        other.seenAt > plusMs(tx.now, -(withinMs as number)) &&
        (!other.present || sessions.isPresent(other.id)),
    );
    const untilAt = plusMs(tx.now, horizonMs as number);
    const page = tx
      .rows()
      .filter(
        (row) =>
          isAfter(row, microsOf(markMs as number), markId as number) &&
          row.wakeAt <= untilAt &&
          isOwn(row, shares),
      )
      .toSorted(byWake)
      .slice(0, limit as number);
    const instance = shared.at(-1) as string;
    const lastInstance = tables.nodes.get(node)?.instance ?? null;
    const present = isPresent as unknown as boolean;
    tx.seen({ id: node, names, present, seenAt: tx.now, instance });
    const last = page.at(-1);
    return [
      {
        nodes: JSON.stringify(others.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(asJson)),
        last_instance: lastInstance,
        wakes: wakesJson(page),
        cursor_ms: last ? msText(last.wakeAt) : null,
        cursor_id: textOrNull(last?.id),
        now_ms: msText(tx.now),
        later_ms: msText(tx.now),
      },
    ];
  };

export const sweep: Statement = (tx, parameters) => {
  const shares = sharesOf(parameters);
  const [names] = shares;
  const [cursorMs, cursorId, scan, limit, helpAfterMs, aheadMs] = parameters.slice(3) as [
    ...[number | null, number, number, number],
    ...[number | null, number],
  ];
  const fromAt = cursorMs === null ? -Infinity : microsOf(cursorMs);
  const raw = tx
    .rows()
    .filter((row) => isAfter(row, fromAt, cursorId) && row.wakeAt <= tx.now)
    .toSorted(byWake)
    .slice(0, scan);
  const isForgotten = (row: Row): boolean =>
    helpAfterMs !== null && wakeOf(row) < plusMs(tx.now, -helpAfterMs);
  const page = raw
    .filter(
      (row) =>
        names.includes(row.name) &&
        (isOwn(row, shares) || isForgotten(row)) &&
        wakeOf(row) <= plusMs(tx.now, aheadMs),
    )
    .slice(0, limit);
  const last = page.length === limit ? page.at(-1) : raw[scan - 1];
  return [
    {
      wakes: wakesJson(page),
      cursor_ms: last ? msText(last.wakeAt) : null,
      cursor_id: textOrNull(last?.id),
      any_overdue: String(raw.length > 0),
      now_ms: msText(tx.now),
    },
  ];
};

export const leaveOf =
  (tables: Tables): Statement =>
  (_tx, [node]) => {
    return tables.nodes.delete(node as string) ? [{ node }] : [];
  };

export const forgetNodesOf =
  (tables: Tables): Statement =>
  (tx, [staleMs, limit]) => {
    const untilAt = plusMs(tx.now, -(staleMs as number));
    const stale = [...tables.nodes.values()]
      .filter(({ seenAt }) => seenAt < untilAt)
      .toSorted((a, b) => a.seenAt - b.seenAt || (a.id < b.id ? -1 : 1))
      .slice(0, limit as number);
    for (const { id } of stale) tables.nodes.delete(id);
    return [{ count: String(stale.length) }];
  };

export const pruneOf =
  (tables: Tables): Statement =>
  (tx, [keepMs, limit]) => {
    const untilAt = plusMs(tx.now, -(keepMs as number));
    const old = tables.history.filter((line) => line.endedAt < untilAt).slice(0, limit as number);
    for (const line of old) tables.history.splice(tables.history.indexOf(line), 1);
    return [{ count: String(old.length) }];
  };
