import { type ChaosMutant, patch } from '../../mutants-by-suite/mutant.js';

const COMPLETE = 'core/store/sql/attempts.sql.ts';
const RETRY = 'core/store/sql/attempts.sql.ts';

/** Mutants that write down wrongly how an attempt, a delay or an order ended. */
export const ENDINGS = {
  'writes-no-history': {
    about: 'removes completed rows without a line in history',
    patches: [
      patch(COMPLETE, "where: 'a.id IS NOT NULL'", "where: 'false'"),
      patch(COMPLETE, "from: 'gone g' })", "from: 'gone g', where: 'false' })"),
    ],
    seconds: 6,
  },
  'throws-dead-letters-away': {
    about: 'deletes what has used up its attempts',
    patches: [
      patch(
        'core/store/attempt.store.ts',
        'return readRows(runner, sql, parameters, readRetried);',
        `const dead = items.filter(({ waitMs }) => waitMs === null).map(({ id }) => id);
    return readRows(runner, sql, parameters, readRetried).then(async (rows) => {
      await this.runner.query(
        "DELETE FROM delay_queue.delay WHERE id = ANY ($1::bigint[]) AND wake_at = 'infinity'",
        [dead],
      );
      return rows;
    });`,
      ),
    ],
    seconds: 15,
  },
  'resets-attempts': {
    about: 'gives a failed delay all its attempts again',
    patches: [
      patch(RETRY, 'attempts = d.attempts - l.refund', 'attempts = 0 * (d.attempts - l.refund)'),
    ],
    seconds: 10,
  },
  'closes-paid-orders': {
    about: 'is a shop whose close does not look whether the order was paid',
    patches: [
      {
        file: 'src/shop/orders/order.moves.ts',
        from: 'const movable = {',
        to: "const movable = to === 'CLOSED' ? { id: Any(ids) } : {",
      },
    ],
    seconds: 15,
    // Payments have to come in the very moment in which their order is being closed.
    rate: 200,
  },
} satisfies Record<string, ChaosMutant>;

/** Mutants of what recurs, and of what history keeps of attempts. */
export const RECURRENCES = {
  'skips-an-instant': {
    about: 'goes on to the next but one instant after a failure',
    patches: [
      patch(
        'core/store/sql/recurrences.sql.ts',
        'SET due_at = e.next_at',
        "SET due_at = e.next_at + CASE WHEN e.attempts > 1 THEN interval '1 second' ELSE interval '0' END",
      ),
    ],
    seconds: 20,
    faults: ['kill', 'crash'],
    blamedBy: 12,
  },
  'logs-the-last-alone': {
    about: 'forgets the attempts before the one that begins',
    patches: [
      patch(
        'core/store/sql/history.sql.ts',
        "ELSE COALESCE(d.attempt_log, '[]') END",
        "ELSE '[]' END",
      ),
    ],
    seconds: 12,
    blamedBy: 7,
  },
} satisfies Record<string, ChaosMutant>;
