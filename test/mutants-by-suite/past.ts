import { type Mutant, patch } from './mutant.js';

const HISTORY_ROW = 'core/store/sql/history.sql.ts';
const MATCHING = 'core/client/matching.ts';

/** What is told of the past, each with its mend taken out. */
export const PAST: Readonly<Record<string, Mutant>> = {
  'forgets-the-group': {
    about: 'leaves the group out of history',
    patches: [
      patch(
        HISTORY_ROW,
        "name === 'attempt_log' ?",
        "name === 'group_id' ? 'NULL' : name === 'attempt_log' ?",
      ),
    ],
    tests: ['integration/what-history-keeps'],
  },
  'forgets-moves': {
    about: 'a reschedule leaves no trace',
    patches: [
      patch(
        'core/store/sql/delays.sql.ts',
        "move_log = ${movedTo('t.due', 'reschedule', by)}",
        'move_log = d.move_log',
      ),
    ],
    tests: ['integration/what-history-keeps'],
  },
  'keeps-all-moves': {
    about: 'the log of moves grows without end',
    patches: [
      patch('core/store/sql/history.sql.ts', 'MOVES_KEPT_MAX = 20', 'MOVES_KEPT_MAX = 2_000'),
    ],
    tests: ['integration/what-history-keeps'],
  },
  'pages-by-instant': {
    about: 'of lines that ended at one instant only those of one page are told',
    patches: [
      patch(
        'core/store/sql/history.sql.ts',
        '(d.ended_at, d.id, d.epoch) < ($1::timestamptz, $2::bigint, $3::bigint)',
        'd.ended_at < $1::timestamptz AND ($2::bigint, $3::bigint) IS NOT NULL',
      ),
    ],
    tests: ['integration/matching'],
  },
  'pages-by-millisecond': {
    about: 'a page of history begins at a whole millisecond',
    patches: [patch('core/store/selection.store.ts', 'us - whole * 1e3', '0')],
    tests: ['integration/matching'],
  },
  'ends-the-story': {
    about: 'a page that is full of what lives is the last',
    patches: [
      patch('core/client/reads.ts', 'behind.length === 0 ? null', 'behind.length >= 0 ? null'),
    ],
    tests: ['integration/matching'],
  },
  'aborts-by-state': {
    about: 'looks for what ran where it said `running` before',
    patches: [patch(MATCHING, '{ ...pages, filter: whatever }', 'pages')],
    tests: ['integration/abort/filters'],
  },
  'aborts-whatever': {
    about: 'cancels what its handler has moved out of the filter',
    patches: [patch(MATCHING, '{ ...pages, filter: whatever }', '{ ...pages, filter: {} }')],
    tests: ['integration/abort/filters'],
  },
  'full-for-ever': {
    about: 'takes a limit that was full at its last claim for full when its attempts are over',
    patches: [
      patch(
        'core/store/sql/stats.sql.ts',
        'OR q.full_slots <= ',
        'OR q.full_slots IS NOT NULL OR 1 = ',
      ),
    ],
    tests: ['integration/what-holds'],
  },
  'one-place-is-all': {
    about: 'takes a limit for full as long as any of its attempts runs',
    patches: [patch('core/store/sql/stats.sql.ts', 'q.full_slots <= ', '1 <= ')],
    tests: ['integration/what-holds'],
  },
  'rate-hides-places': {
    about: 'a claim that has used up a rate does not write that no place is free either',
    patches: [
      patch(
        'core/store/sql/claim.sql.ts',
        'CASE WHEN u.free <= u.many THEN',
        'CASE WHEN u.wait_ms = 0 AND u.free <= u.many THEN',
      ),
    ],
    tests: ['integration/waits-for'],
  },
  'reads-all-permits': {
    about: 'counts the attempts of one group by all permits of its name',
    patches: [
      patch(
        'core/store/sql/stats.sql.ts',
        "'p.group_id = q.group_id'",
        "'concat(p.group_id) = q.group_id'",
      ),
    ],
    tests: ['integration/what-holds'],
  },
  'unserved-is-limited': {
    about: 'counts as limited what no node serves',
    patches: [
      patch('core/store/sql/stats.sql.ts', '${IS_SERVED} AND ${IS_LIMITED}', '${IS_LIMITED}'),
    ],
    tests: ['integration/what-holds'],
  },
  'held-is-late': {
    about: 'counts as late what a limit holds',
    patches: [
      patch(
        'core/store/sql/stats.sql.ts',
        'FILTER (WHERE held IS NULL), 0)',
        "FILTER (WHERE held IS DISTINCT FROM 'pause'), 0)",
      ),
    ],
    tests: ['integration/waits-for'],
  },
};
