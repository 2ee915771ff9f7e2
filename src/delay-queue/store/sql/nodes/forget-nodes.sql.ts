import type { Tables } from '../../tables/schema.js';
import { deleteOldest } from '../parts/delete-oldest.js';

/**
 * Deletes nodes that have not been seen for long: a process that was killed did not leave. One that lives
 * after all comes back with its next heartbeat. Parameters: stale_ms, limit. Answers how many.
 */
export const forgetNodesSql = ({ node }: Tables): string =>
  deleteOldest(node, { by: 'id', since: 'seen_at', order: 'seen_at, id' });
