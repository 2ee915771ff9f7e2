import { type ChaosMutant, patch } from '../../mutants-by-suite/mutant.js';

const COMPLETE = 'core/store/sql/attempts.sql.ts';
const RENEW = 'core/store/sql/attempts.sql.ts';
const RETRY = 'core/store/sql/attempts.sql.ts';
const EXECUTOR = 'core/worker/executor.ts';
const TRANSACTION = 'core/worker/fenced-transaction.ts';
export const REMOVAL = 'core/worker/removal.ts';

/** Of plain attempts: those of a transaction wait for their rows. */
const EPOCH_OF_MANY =
  'AND ((d.id, d.epoch) IN (SELECT i.id, i.epoch FROM input i)) IS TRUE\n  FOR UPDATE SKIP LOCKED';
export const REMOVES = 'if (await this.store.remove(completing, runner)) return;';
const ANY_EPOCH = ".replace(' AND d.epoch = i.epoch', '')";

/** Calls per second where two attempts of one delay have to meet. */
export const CROWDED = 120;

/**
 * Nothing in the process notices that a lease is over, as if its timers were late: what is left is what the
 * database refuses.
 */
const NEVER_LOSES_A_LEASE = patch(
  'core/worker/call.ts',
  '  lose(attempt: Attempt): void {\n',
  '  lose(attempt: Attempt): void {\n    return;\n',
);

/** Nothing in the process tells a transactional attempt that its time is over. */
const BELIEVES_IN_THE_LEASE = [
  patch(
    EXECUTOR,
    '    if (call.handler.transactional) inOwnScope(() => this.#inTransaction(call));\n',
    `    if (call.handler.transactional) {
      for (const attempt of call.attempts) attempt.leaseEndsAtMs += 600_000;
      const handler = { ...call.handler, timeoutMs: call.handler.timeoutMs * 6 };
      this.#inTransaction(Object.assign(call, { handler }));
    }
`,
  ),
  patch(
    EXECUTOR,
    'const beginsByMs = performance.now() + leaseMs / 2;',
    'const beginsByMs = performance.now() + 600_000;',
  ),
  // The server would end its session, idle for a lease.
  patch(
    TRANSACTION,
    'await session.begin(this.call.handler.leaseMs);',
    'await session.begin(600_000);',
  ),
];

/**
 * @param wait what a transaction of that mutant does between its handler and its removal; `leftMs` is what
 * is left of its lease
 */
export const removesTooLate = (wait: string) => [
  ...BELIEVES_IN_THE_LEASE,
  patch(
    TRANSACTION,
    '  async #commit(session: AttemptSession): Promise<Outcome> {\n    try {\n',
    `  async #commit(session: AttemptSession): Promise<Outcome> {
    try {
    const { attempts, handler } = this.call;
    const leftMs = () => this.call.leaseEndsAtMs - performance.now() - 600_000;
${wait}`,
  ),
  patch(
    TRANSACTION,
    "const LOST: Outcome = { kind: 'lost' };\n",
    `const LOST: Outcome = { kind: 'lost' };
let commits = 0;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
`,
  ),
];

/** Each third one has lost its row by the time of its removal, which by chance alone is rare. */
const MEETS_ITS_SUCCESSOR = removesTooLate(`    commits += 1;
    if (commits % 3 === 0) await pause(leftMs() + handler.leaseMs / 2);
`);

/** Mutants that write what they have no right to write any more. */
export const FENCES = {
  'completes-by-id': {
    about: 'removes a finished row by its id alone',
    patches: [patch(COMPLETE, EPOCH_OF_MANY, 'FOR UPDATE SKIP LOCKED')],
    seconds: 25,
    faults: ['pause', 'block'],
    rate: CROWDED,
  },
  'settles-by-id': {
    about: 'fails and gives back rows by their id alone',
    patches: [
      NEVER_LOSES_A_LEASE,
      patch(
        RETRY,
        "and: 'd.leased_by = $8::text',\n  })}",
        `and: '$8::text IS NOT NULL',\n  })${ANY_EPOCH}}`,
      ),
    ],
    seconds: 40,
    faults: ['pause', 'block'],
    rate: CROWDED,
  },
  'renews-by-id': {
    about: 'renews whatever lease there is on a row',
    patches: [
      NEVER_LOSES_A_LEASE,
      patch(
        RENEW,
        `('', d.group_id)))\`,
  })} d\n`,
        `('', d.group_id)))\`,
  })${ANY_EPOCH}} d\n`,
      ),
    ],
    seconds: 30,
    faults: ['pause', 'block'],
    rate: CROWDED,
  },
  'fences-by-id': {
    about: 'removes the row of a transactional attempt by its id alone',
    patches: [
      ...MEETS_ITS_SUCCESSOR,
      patch(
        REMOVAL,
        REMOVES,
        `const rows = await this.store.lookAt(completing.map(({ id }) => id));
      const present = new Map(rows.map(({ id, epoch }) => [id, epoch]));
      const found = completing.map(({ id, epoch, latenessMs }) => {
        return { id, latenessMs, epoch: present.get(id) ?? epoch };
      });
      if (await this.store.remove(found, runner)) return;`,
      ),
    ],
    seconds: 25,
    rate: CROWDED,
    blamedBy: 2,
  },
  'has-no-fence': {
    about: 'commits a transactional attempt whatever its removal reports',
    patches: [
      ...MEETS_ITS_SUCCESSOR,
      patch(COMPLETE, 'CASE WHEN ${isComplete} THEN', 'CASE WHEN true THEN'),
      patch(REMOVAL, 'else if (!attempt.movedOn) throw new DelayLeaseLostError();', ''),
    ],
    seconds: 30,
    rate: CROWDED,
    blamedBy: 2,
  },
  'removes-outside-the-transaction': {
    about: 'commits what a transactional handler did, and removes the row a little later',
    patches: [
      patch(
        REMOVAL,
        REMOVES,
        `setTimeout(() => void this.store.complete(completing).catch(() => {}), 100);
      return;`,
      ),
    ],
    seconds: 12,
    faults: ['kill'],
  },
  'counts-a-swallowed-error-as-done': {
    about: 'takes a transaction that Postgres has aborted for one that did its work',
    patches: [
      patch(
        REMOVAL,
        REMOVES,
        `try { ${REMOVES} } catch {
        setTimeout(() => void this.store.complete(completing).catch(() => {}), 100);
        return;
      }`,
      ),
      patch(
        'core/transactions/handlers-client.ts',
        "if (answer.command !== 'COMMIT') throw new DelayRolledBackError();",
        '',
      ),
    ],
    seconds: 12,
  },
  'believes-a-late-result': {
    about: 'acknowledges what a handler did after its lease was lost',
    patches: [
      NEVER_LOSES_A_LEASE,
      // Whatever attempt it is on, as long as there was one: not what has just moved on to another time.
      patch(
        COMPLETE,
        EPOCH_OF_MANY,
        'AND (d.leased_by IS NOT NULL OR d.attempts > 0) FOR UPDATE SKIP LOCKED',
      ),
    ],
    seconds: 40,
    faults: ['pause', 'block'],
    rate: CROWDED,
  },
} satisfies Record<string, ChaosMutant>;
