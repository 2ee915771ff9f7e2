import type { Sql } from '../record/sql.js';
import { clock } from './invariant.js';

/** Steps of one story; a row that was renewed for long has more than anybody reads. */
const STEPS_MAX = 24;

const STEP = `
  format('%s %s %s', s.revision, ${clock('s.at')}, s.kind)
  || CASE WHEN s.begins THEN format(' "%s" due %s', s.token, ${clock('s.due_at')}) ELSE '' END
  || CASE s.kind
       WHEN 'claim' THEN format(' by %s, attempt %s, epoch %s, until %s',
                                s.leased_by, s.attempts, s.epoch, ${clock('s.leased_until')})
       WHEN 'renew' THEN format(' by %s until %s', s.leased_by, ${clock('s.leased_until')})
       WHEN 'settle' THEN format(' by %s, wakes %s: %s', s.was_leased_by, ${clock('s.wake_at')}, s.error)
       WHEN 'reschedule' THEN format(' to %s', ${clock('s.due_at')})
       WHEN 'complete' THEN format(' by %s, epoch %s', s.was_leased_by, s.was_epoch)
       ELSE '' END
  || CASE WHEN s.session = '' THEN '' ELSE format(' [%s]', s.session) END`;

/** What happened to a row, from its first write to its last, and what its handlers did. */
export async function storyOf(sql: Sql, delayId: string): Promise<string> {
  const lines = await sql<{ line: string }>(
    `SELECT line FROM (
       SELECT s.at, ${STEP} AS line FROM chaos.step s WHERE s.delay_id = $1::bigint
       UNION ALL
       SELECT e.at, format('  %s effect of "%s" by %s, attempt %s', ${clock('e.at')}, e.token, e.node, e.attempt)
       FROM chaos.effect e WHERE e.delay_id = $1::bigint
     ) story ORDER BY at`,
    [delayId],
  );
  const told = lines.map(({ line }) => `      ${line}`);
  if (told.length <= STEPS_MAX) return told.join('\n');
  const half = STEPS_MAX / 2;
  const left = `      … ${told.length - STEPS_MAX} more …`;
  return [...told.slice(0, half), left, ...told.slice(-half)].join('\n');
}
