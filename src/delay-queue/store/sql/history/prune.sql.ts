import type { Tables } from '../../tables/schema.js';
import { deleteOldest } from '../parts/delete-oldest.js';

/**
 * Deletes the oldest lines of history. Parameters: keep_ms, limit. Answers how many.
 *
 * By ctid, which is safe here because the lines are locked and never updated: a join back to the
 * table may be planned as a read of all of it.
 */
export const pruneSql = ({ history }: Tables): string =>
  deleteOldest(history, { by: 'ctid', since: 'ended_at', order: 'ended_at, id, epoch' });

/**
 * The same for a node that keeps no history, while no other node keeps one either: as long as a line is younger, that
 * one's own pruner has its rule.
 */
export const pruneAbandonedSql = ({ history }: Tables): string =>
  deleteOldest(history, {
    by: 'ctid',
    since: 'ended_at',
    order: 'ended_at, id, epoch',
    onlyWithoutNewer: true,
  });
