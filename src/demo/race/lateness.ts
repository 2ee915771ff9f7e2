import type { Fault, Ledger } from './ledger.js';
import type { Picture } from './picture.js';

/** How late orders were closed, by the database's clock. */
export interface Lateness {
  of: string;
  count: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** Of all closes, and separately of those of the processes that were hit. */
export function latenessesOf({ orders, killed, paused }: Ledger, picture: Picture): Lateness[] {
  const ours = new Set(orders.map(({ id }) => id));
  const closed = picture.orders.flatMap(({ id, payDeadlineMs, closedAtMs, status }) =>
    status === 'CLOSED' && closedAtMs !== null && ours.has(id)
      ? [{ id, dueMs: payDeadlineMs, lateMs: closedAtMs - payDeadlineMs }]
      : [],
  );
  const among = (of: string, ids: readonly string[], from = -Infinity, to = Infinity): Lateness => {
    const chosen = new Set(ids);
    return summaryOf(
      of,
      closed
        .filter(({ id, dueMs }) => chosen.has(id) && dueMs >= from && dueMs < to)
        .map(({ lateMs }) => lateMs),
    );
  };
  const hit = new Set([...hitBy(killed), ...hitBy(paused)]);
  const untouched = closed.filter(({ id }) => !hit.has(id)).map(({ id }) => id);
  return [
    among(
      'all',
      closed.map(({ id }) => id),
    ),
    among('of processes that were not hit', untouched),
    ...(killed
      ? [
          among('begun by the killed process', killed.held),
          among('of the killed process, due after its death', without(killed), killed.atMs),
        ]
      : []),
    ...(paused
      ? [
          among('begun by the paused process', paused.held),
          among(
            'of the paused process, due in its pause',
            without(paused),
            paused.atMs,
            paused.untilMs,
          ),
        ]
      : []),
  ];
}

const hitBy = (fault: Fault | null): string[] => (fault ? [...fault.held, ...fault.owned] : []);

const without = ({ owned, held }: Fault): string[] => owned.filter((id) => !held.includes(id));

function summaryOf(of: string, latenessMs: readonly number[]): Lateness {
  const sorted = latenessMs.toSorted((a, b) => a - b);
  return {
    of,
    count: sorted.length,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    maxMs: percentile(sorted, 1),
  };
}

/** A value of the list, not interpolated; NaN if there is none. @param sorted ascending */
export const percentile = (sorted: readonly number[], fraction: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? Number.NaN;
