import { type Mutant, patch } from './mutant.js';

const HISTORY_ROW = 'store/sql/parts/history-row.ts';
const MATCHING = 'producer/matching.ts';

/** What is told of the past, each with its mend taken out. */
export const PAST: Readonly<Record<string, Mutant>> = {
  'forgets-the-group': {
    about: 'leaves the group out of history',
    patches: [patch(HISTORY_ROW, '${of}.group_id, ${of}.headers', 'NULL, ${of}.headers')],
    tests: ['integration/what-history-keeps'],
  },
  'forgets-moves': {
    about: 'a reschedule leaves no trace',
    patches: [
      patch(
        'store/sql/delays/reschedule.sql.ts',
        "move_log = ${movedTo('t.due', 'reschedule')}",
        'move_log = d.move_log',
      ),
    ],
    tests: ['integration/what-history-keeps'],
  },
  'keeps-all-moves': {
    about: 'the log of moves grows without end',
    patches: [
      patch('store/sql/parts/move-log.ts', 'MOVES_KEPT_MAX = 20', 'MOVES_KEPT_MAX = 2_000'),
    ],
    tests: ['integration/what-history-keeps'],
  },
  'pages-by-instant': {
    about: 'of lines that ended at one instant only those of one page are told',
    patches: [
      patch(
        'store/sql/history/read.sql.ts',
        '(d.ended_at, d.id, d.epoch) < ($1::timestamptz, $2::bigint, $3::bigint)',
        'd.ended_at < $1::timestamptz AND ($2::bigint, $3::bigint) IS NOT NULL',
      ),
    ],
    tests: ['integration/matching'],
  },
  'pages-by-millisecond': {
    about: 'a page of history begins at a whole millisecond',
    patches: [patch('store/selection.store.ts', 'us - whole * 1e3', '0')],
    tests: ['integration/matching'],
  },
  'ends-the-story': {
    about: 'a page that is full of what lives is the last',
    patches: [patch(MATCHING, 'if (rows.length === 0) return', 'if (rows.length >= 0) return')],
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
};
