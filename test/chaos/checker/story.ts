import type { Sql } from '../record/sql.js';
import { clock } from './invariant.js';

/** Lines of one story; a row that was renewed for long has more than anybody reads. */
const LINES_MAX = 24;

const STEP = `format('%s %s %s "%s" [%s] due %s, wakes %s, epoch %s, attempt %s, leased to %s until %s, error %s',
  s.revision, ${clock('s.at')}, s.kind, COALESCE(s.token, s.was_token), s.session, ${clock('s.due_at')},
  ${clock('s.wake_at')}, s.epoch, s.attempts, s.leased_by, ${clock('s.leased_until')}, s.error)`;

const EFFECT = `format('  %s effect of "%s" by %s, attempt %s', ${clock('e.at')}, e.token, e.node, e.attempt)`;

/** What happened to a row, from its first write to its last, and what its handlers did. */
export async function storyOf(sql: Sql, delayId: string): Promise<string> {
  const lines = await sql<{ line: string }>(
    `SELECT s.at, ${STEP} AS line FROM chaos.step s WHERE s.delay_id = $1::bigint
     UNION ALL
     SELECT e.at, ${EFFECT} FROM chaos.effect e WHERE e.delay_id = $1::bigint
     ORDER BY at LIMIT ${LINES_MAX}`,
    [delayId],
  );
  return lines.map(({ line }) => `      ${line}`).join('\n');
}
