import { type ChaosMutant, patch } from '../../mutants-by-suite/mutant.js';

const CLAIM = 'core/store/sql/claim.sql.ts';
const LOAD = 'core/store/sql/fetch.sql.ts';
const SWEEP = 'core/store/sql/fetch.sql.ts';

const IS_DUE = "`(${wakeSql('d')} <= clock.now OR";

/** Mutants that take what they must not take, or take it wrongly. */
export const CLAIMS = {
  'claims-before-due': {
    about: 'trusts its own clock, which runs ahead, and does not look at due in the claim',
    patches: [
      patch(CLAIM, IS_DUE, '`(COALESCE(d.leased_until <= clock.now, true) OR'),
      patch(
        'core/database/database-clock.ts',
        'return databaseMs - this.#offsetMs();',
        'return databaseMs - this.#offsetMs() - 400;',
      ),
    ],
    seconds: 6,
  },
  'claims-leased-rows': {
    about: 'takes a row although the lease of another attempt runs',
    patches: [
      patch(CLAIM, IS_DUE, '`(d.wake_at <= clock.now OR'),
      patch(LOAD, 'ELSE ${wakeSql(row)} END`)},', 'ELSE ${row}.wake_at END`)},'),
      patch(SWEEP, "AND ${fetchedWakeSql('r')} < clock.now", 'AND r.wake_at < clock.now'),
      patch(SWEEP, "AND ${fetchedWakeSql('r')} <= ${plusMs", 'AND r.wake_at <= ${plusMs'),
    ],
    seconds: 20,
    faults: ['pause', 'block'],
  },
  'counts-no-attempt': {
    about: 'starts an attempt without counting it',
    patches: [patch(CLAIM, 'attempts = d.attempts + 1', 'attempts = d.attempts')],
    seconds: 6,
  },
  'claims-under-the-same-epoch': {
    about: 'leaves the epoch as it was when it claims',
    patches: [patch(CLAIM, 'epoch = d.epoch + 1', 'epoch = d.epoch')],
    seconds: 6,
  },
  'tries-for-ever': {
    about: 'knows no last attempt',
    patches: [
      patch(CLAIM, ' AND d.attempts < COALESCE(d.max_attempts, w.max_attempts)', ''),
      patch(
        CLAIM,
        'COALESCE(d.max_attempts, w.max_attempts) AS max_attempts',
        '1000 AS max_attempts',
      ),
    ],
    seconds: 10,
  },
  'runs-dead-letters': {
    about: 'takes dead letters for rows that are due',
    patches: [
      patch(CLAIM, IS_DUE, "`(d.wake_at = 'infinity' OR ${wakeSql('d')} <= clock.now OR"),
      // Nearly all dead letters have none left.
      patch(CLAIM, '      AND d.attempts < COALESCE(d.max_attempts, w.max_attempts)\n', ''),
      patch(
        'core/store/node.store.ts',
        'return this.#share(this.#sql.scan, shares, parameters, readSwept);',
        `const page = this.#share(this.#sql.scan, shares, parameters, readSwept);
    return page.then(async (read) => {
      const dead = await this.runner.query(
        \`SELECT id::float8 AS id, epoch, name, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "wakeMs",
                NULL AS "group", false AS stalled, true AS failed
         FROM delay_queue.delay WHERE wake_at = 'infinity' LIMIT 100\`,
        [],
      );
      return { ...read, wakes: [...read.wakes, ...dead] };
    });`,
      ),
    ],
    seconds: 10,
  },
  'acknowledges-before-it-runs': {
    about: 'removes a plain delay before its handler has run: at most once',
    patches: [
      patch(
        'core/worker/executor.ts',
        'else this.#plainly(call);',
        `else {
      const removed = this.fenced.store.complete(call.attempts).catch(() => {});
      void removed.then(() => this.#plainly(call));
    }`,
      ),
    ],
    seconds: 10,
    faults: ['kill'],
  },
  'never-takes-over': {
    about: 'does not look at rows whose lease has ended',
    patches: [
      patch(
        SWEEP,
        'WHERE served.at IS NOT NULL',
        'WHERE served.at IS NOT NULL AND r.leased_by IS NULL',
      ),
      patch(
        LOAD,
        'WHERE (d.wake_at, d.id) > (pg',
        'WHERE d.leased_by IS NULL AND (d.wake_at, d.id) > (pg',
      ),
    ],
    seconds: 15,
    faults: ['kill'],
  },
} satisfies Record<string, ChaosMutant>;
