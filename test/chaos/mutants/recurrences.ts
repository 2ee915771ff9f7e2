import type { Mutant } from './mutant.js';

/** Mutants of what recurs, and of what history keeps of attempts. */
export const RECURRENCES: Record<string, Mutant> = {
  'skips-an-instant': {
    about: 'goes on to the next but one instant after a failure',
    faults: ['kill', 'crash'],
    seconds: 20,
    blamedBy: 12,
    apply: (surgery) =>
      surgery.rewrite('recur', {
        'SET due_at = e.next_at':
          "SET due_at = e.next_at + CASE WHEN e.attempts > 1 THEN interval '1 second' ELSE interval '0' END",
      }),
  },
  'logs-the-last-alone': {
    about: 'forgets the attempts before the one that begins',
    faults: [],
    seconds: 12,
    blamedBy: 7,
    apply: (surgery) => {
      const log = { "ELSE COALESCE(d.attempt_log, '[]') END": "ELSE '[]' END" };
      surgery.rewrite('claim', log);
      surgery.rewrite('claimLimited', log);
    },
  },
};
