import { DelayRolledBackError } from 'nestjs-delay-queue';
import type { QueryResult } from 'pg';
import { Executor } from '../../../src/delay-queue/execution/executor.js';
import { AttemptSession } from '../../../src/delay-queue/execution/transaction/attempt-session.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { believeInTheLease, fenceTooLate } from './late-fences.js';
import type { Mutant } from './mutant.js';
import type { Surgery } from './surgery.js';

const EPOCH = ' AND d.epoch = i.epoch';
const EPOCH_OF_MANY = 'AND ((d.id, d.epoch) IN (SELECT i.id, i.epoch FROM input i)) IS TRUE';

/** Whatever attempt it is on, as long as there was one: not what has just moved on to another time. */
const completeWhoever = (surgery: Surgery): void =>
  surgery.rewrite('complete', {
    [EPOCH_OF_MANY]: 'AND (d.leased_by IS NOT NULL OR d.attempts > 0)',
  });

/** Calls per second where two attempts of one delay have to meet. */
export const CROWDED = 120;

/** Mutants that write what they have no right to write any more. */
export const FENCES: Record<string, Mutant> = {
  'completes-by-id': {
    about: 'removes a finished row by its id alone',
    faults: ['pause', 'block'],
    seconds: 25,
    rate: CROWDED,
    apply: (surgery) => surgery.rewrite('complete', { [EPOCH_OF_MANY]: '' }),
  },
  'settles-by-id': {
    about: 'fails and gives back rows by their id alone',
    faults: ['pause', 'block'],
    seconds: 40,
    rate: CROWDED,
    apply: (surgery) => {
      neverLosesALease(surgery);
      surgery.rewrite('settle', {
        [EPOCH]: '',
        'd.leased_by = $8::text': '$8::text IS NOT NULL',
      });
    },
  },
  'renews-by-id': {
    about: 'renews whatever lease there is on a row',
    faults: ['pause', 'block'],
    seconds: 30,
    rate: CROWDED,
    apply: (surgery) => {
      neverLosesALease(surgery);
      surgery.rewrite('renew', { [EPOCH]: '' });
    },
  },
  'fences-by-id': {
    about: 'lets a transactional attempt begin and end on a row that is no longer its own',
    faults: ['pool'],
    seconds: 25,
    rate: CROWDED,
    blamedBy: 2,
    apply: (surgery) => {
      believeInTheLease(surgery);
      surgery.rewrite('fence', { 'd.epoch = i.epoch': 'true' });
      surgery.rewrite('fenceOne', { 'd.epoch = $2::bigint': '$2::bigint IS NOT NULL' });
      fenceTooLate(surgery);
      surgery.wrap(
        AttemptStore.prototype,
        'complete',
        (original) =>
          async function byId(this: AttemptStore, items, runner) {
            if (runner === undefined) return original.call(this, items);
            const rows = await this.lookAt(items.map(({ id }) => id));
            const epochs = new Map(rows.map(({ id, epoch }) => [id, epoch]));
            // What its own handler has just moved on to another time stays where it is.
            const own = items.map((item) => {
              const { id, epoch, latenessMs, movedOn } = item;
              const present = movedOn === true ? epoch : (epochs.get(id) ?? epoch);
              return { id, latenessMs, epoch: present, movedOn };
            });
            return original.call(this, own, runner);
          },
      );
    },
  },
  'has-no-fence': {
    about: 'commits a transactional attempt whatever became of its row',
    faults: ['pause', 'pool'],
    seconds: 30,
    rate: CROWDED,
    blamedBy: 2,
    apply: (surgery) => {
      believeInTheLease(surgery);
      surgery.wrap(
        AttemptStore.prototype,
        'fence',
        () =>
          (...[, claims]: Parameters<AttemptStore['fence']>) =>
            Promise.resolve({
              pid: 0,
              began: '',
              transaction: '0',
              isReadCommitted: true,
              ids: claims.map(({ id }) => id),
            }),
      );
      removesWhatIsThere(surgery);
    },
  },
  'removes-outside-the-transaction': {
    about: 'commits what a transactional handler did, and removes the row a little later',
    faults: ['kill'],
    seconds: 12,
    apply: (surgery) =>
      surgery.wrap(
        AttemptStore.prototype,
        'complete',
        (original) =>
          function later(this: AttemptStore, items, runner) {
            if (runner === undefined) return original.call(this, items);
            setTimeout(() => void original.call(this, items).catch(() => {}), LATER_MS);
            return Promise.resolve(items.map(({ id }) => id));
          },
      ),
  },
  'counts-a-swallowed-error-as-done': {
    about: 'takes a transaction that Postgres has aborted for one that did its work',
    faults: [],
    seconds: 12,
    apply: (surgery) => {
      surgery.wrap(
        AttemptStore.prototype,
        'complete',
        (original) =>
          async function gullible(this: AttemptStore, items, runner) {
            try {
              return await original.call(this, items, runner);
            } catch (error) {
              if (runner === undefined) throw error;
              setTimeout(() => void original.call(this, items).catch(() => {}), LATER_MS);
              return items.map(({ id }) => id);
            }
          },
      );
      surgery.wrap(
        AttemptSession.prototype,
        'commit',
        (original) =>
          async function believing(this: AttemptSession, ...how) {
            return await original.call(this, ...how).catch((error: unknown) => {
              if (error instanceof DelayRolledBackError) return COMMITTED;
              throw error;
            });
          },
      );
    },
  },
  'believes-a-late-result': {
    about: 'acknowledges what a handler did after its lease was lost',
    faults: ['pause', 'block'],
    seconds: 40,
    rate: CROWDED,
    apply: (surgery) => {
      neverLosesALease(surgery);
      completeWhoever(surgery);
    },
  },
};

const LATER_MS = 100;

const COMMITTED: QueryResult = { command: 'COMMIT', rowCount: null, oid: 0, fields: [], rows: [] };

/**
 * Nothing in the process notices that a lease is over, as if its timers were late: what is left is
 * what the database refuses.
 */
export function neverLosesALease(surgery: Surgery): void {
  surgery.wrap(
    Executor.prototype,
    'run',
    (original) =>
      function unaware(this: Executor, call) {
        Object.assign(call, { lose: () => {} });
        return original.call(this, call);
      },
  );
}

/** Takes the removal in a transaction for complete, whatever it reports. */
export function removesWhatIsThere(surgery: Surgery): void {
  surgery.rewrite('completeOne', { 'CASE WHEN EXISTS (SELECT FROM gone)': 'CASE WHEN true' });
  surgery.wrap(
    AttemptStore.prototype,
    'complete',
    (original) =>
      async function unchecked(this: AttemptStore, items, runner) {
        const removed = await original.call(this, items, runner);
        return runner === undefined ? removed : items.map(({ id }) => id);
      },
  );
}
