import { type ImpoliteMutant, patch } from '../../mutants-by-suite/mutant.js';

const POISONED = 'A savepoint that rolled back, or a false hint, poisoned the wheel';
const LONG = 'A commit long after the delay was due went unseen';

/** What was left inside a savepoint stays, though the savepoint is rolled back. */
const KEEPS_WHAT_WAS_UNDONE = patch(
  'core/transactions/commit-hooks.ts',
  `    pending.pieces = pending.pieces.filter((piece) => piece.depth <= depth);
`,
  '',
);

/** Mutants that trust what they remember, or forget what they need. */
export const MEMORY: Record<string, ImpoliteMutant> = {
  'believes-hints': {
    about: 'takes what anybody says by NOTIFY for what a row says',
    hole: POISONED,
    patches: [
      patch(
        'core/worker/hint-follower.ts',
        "group: null }, 'hinted')",
        "group: null }, 'confirmed')",
      ),
    ],
    kinds: ['callers'],
    programs: 30,
    blamedBy: ['late'],
    tests: ['integration/memory-and-rows'],
  },
  'believes-savepoints': {
    about: 'takes what was written in a transaction that commits for what stands',
    hole: POISONED,
    patches: [
      KEEPS_WHAT_WAS_UNDONE,
      patch('core/engine/engine.ts', "certain ? 'confirmed' : 'hinted'", "'confirmed'"),
    ],
    kinds: ['callers'],
    programs: 30,
    blamedBy: ['late'],
    tests: ['integration/memory-and-rows'],
  },
  'forgets-what-was-kept': {
    about: 'forgets a delay whose cancel was rolled back to a savepoint',
    hole: POISONED,
    patches: [
      KEEPS_WHAT_WAS_UNDONE,
      patch(
        'core/client/announcements.ts',
        'if (certain) this.engine.disarm(id);',
        'if (certain || true) this.engine.disarm(id);',
      ),
    ],
    kinds: ['callers'],
    programs: 30,
    blamedBy: ['late'],
    tests: ['integration/memory-and-rows'],
  },
  'shares-the-wheels-room': {
    about: "lets volatile timers take the room of durable delays and of handlers' timeouts",
    hole: 'A wheel full of volatile timers stopped durable delays',
    patches: [
      patch(
        'core/timer-wheel/wheel.service.ts',
        `    this.#channels.push(channel);
`,
        `    const add = channel.add.bind(channel);
    channel.add = (deadlineMs, tag) => {
      const waiting = this.#channels.reduce((sum, { size }) => sum + size, 0);
      return waiting < this.capacity ? add(deadlineMs, tag) : undefined;
    };
    this.#channels.push(channel);
`,
      ),
    ],
    kinds: ['callers'],
    programs: 60,
    blamedBy: ['late', 'hung'],
    tests: ['integration/engine/full-wheel'],
  },
  'takes-the-clock-of-the-write': {
    about: 'decides by the clock at the write whether a commit is worth telling of',
    hole: LONG,
    patches: [
      patch(
        'core/worker/announcer.ts',
        'written.databaseMs + performance.now() - written.monotonicMs',
        'written.databaseMs',
      ),
    ],
    kinds: ['long-transactions'],
    programs: 8,
    blamedBy: ['late'],
    tests: ['integration/memory-and-rows'],
  },
  'sweeps-by-its-lease': {
    about: 'sweeps twice in a lease, however long that is',
    hole: LONG,
    patches: [
      patch(
        'core/worker/scanner.ts',
        'return Math.min(EVERY_MS_MAX, this.parts.options.leaseMs / 2);',
        'return this.parts.options.leaseMs / 2;',
      ),
    ],
    kinds: ['lost-answers'],
    programs: 4,
    blamedBy: ['late'],
    tests: ['integration/engine/scanner'],
  },
};
