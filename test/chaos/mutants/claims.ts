import { Executor } from '../../../src/delay-queue/execution/executor.js';
import type { Runner } from '../../../src/delay-queue/store/wire/runner.js';
import type { Wake } from '../../../src/delay-queue/store/wire/wakes.js';
import { wakeOf } from '../../../src/delay-queue/store/tables/schema.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { DatabaseClock } from '../../../src/delay-queue/database/database-clock.js';
import type { Mutant } from './mutant.js';

const IS_DUE = `${wakeOf('d')} <= clock.now`;
const HAS_ATTEMPTS = `d.attempts < COALESCE(d.max_attempts, w.max_attempts)`;

/** How far the clock of a mutant runs ahead. */
const AHEAD_MS = 400;

/** Mutants that take what they must not take, or take it wrongly. */
export const CLAIMS: Record<string, Mutant> = {
  'claims-before-due': {
    about: 'trusts its own clock, which runs ahead, and does not look at due in the claim',
    faults: [],
    seconds: 6,
    apply: (surgery) => {
      surgery.rewrite('claim', { [IS_DUE]: `COALESCE(d.leased_until <= clock.now, true)` });
      surgery.wrap(
        DatabaseClock.prototype,
        'toMonotonicMs',
        (original) =>
          function ahead(this: DatabaseClock, databaseMs) {
            return original.call(this, databaseMs) - AHEAD_MS;
          },
      );
    },
  },
  'claims-leased-rows': {
    about: 'takes a row although the lease of another attempt runs',
    faults: ['pause', 'block'],
    seconds: 20,
    apply: (surgery) => {
      surgery.rewrite('claim', { [IS_DUE]: `d.wake_at <= clock.now` });
      surgery.rewrite('sweep', { [wakeOf('r')]: 'r.wake_at' });
      surgery.rewrite('load', { [wakeOf('p')]: 'p.wake_at' });
    },
  },
  'counts-no-attempt': {
    about: 'starts an attempt without counting it',
    faults: [],
    seconds: 6,
    apply: (surgery) =>
      surgery.rewrite('claim', { 'attempts = d.attempts + 1': 'attempts = d.attempts' }),
  },
  'claims-under-the-same-epoch': {
    about: 'leaves the epoch as it was when it claims',
    faults: [],
    seconds: 6,
    apply: (surgery) => surgery.rewrite('claim', { 'epoch = d.epoch + 1': 'epoch = d.epoch' }),
  },
  'tries-for-ever': {
    about: 'knows no last attempt',
    faults: [],
    seconds: 10,
    apply: (surgery) =>
      surgery.rewrite('claim', {
        [`AND ${HAS_ATTEMPTS}`]: '',
        'COALESCE(d.max_attempts, w.max_attempts) AS max_attempts': '1000 AS max_attempts',
      }),
  },
  'runs-dead-letters': {
    about: 'takes dead letters for rows that are due',
    faults: [],
    seconds: 10,
    apply: (surgery) => {
      const isDead = `d.wake_at = 'infinity'`;
      surgery.rewrite('claim', {
        [IS_DUE]: `(${IS_DUE} OR ${isDead})`,
        [HAS_ATTEMPTS]: `(${HAS_ATTEMPTS} OR ${isDead})`,
      });
      surgery.wrap(
        NodeStore.prototype,
        'sweep',
        (original) =>
          async function sweepDead(this: NodeStore, ...parameters) {
            const page = await original.apply(this, parameters);
            const wakes = await runnerIn(this).query<Wake>(DEAD_LETTERS, []);
            return { ...page, wakes: [...page.wakes, ...wakes] };
          },
      );
    },
  },
  'acknowledges-before-it-runs': {
    about: 'removes a plain delay before its handler has run: at most once',
    faults: ['kill'],
    seconds: 10,
    apply: (surgery) => {
      const seen: { store?: AttemptStore } = {};
      surgery.wrap(
        AttemptStore.prototype,
        'claim',
        (original) =>
          function remembered(this: AttemptStore, requests) {
            Object.assign(seen, { store: this });
            return original.call(this, requests);
          },
      );
      surgery.wrap(
        Executor.prototype,
        'run',
        (original) =>
          async function acknowledgedFirst(this: Executor, call) {
            if (!call.handler.transactional) await seen.store?.complete(call.attempts);
            return original.call(this, call);
          },
      );
    },
  },
  'never-takes-over': {
    about: 'does not look at rows whose lease has ended',
    faults: ['kill'],
    seconds: 15,
    apply: (surgery) => {
      const named = 'WHERE served.at IS NOT NULL';
      surgery.rewrite('sweep', { [named]: `${named} AND r.leased_by IS NULL` });
      const ahead = 'WHERE (d.wake_at, d.id) >';
      surgery.rewrite('load', { [ahead]: `WHERE d.leased_by IS NULL AND (d.wake_at, d.id) >` });
    },
  },
};

const DEAD_LETTERS = `
  SELECT id::float8 AS id, epoch, name, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "wakeMs",
         false AS stalled, true AS failed
  FROM delay_queue.delay WHERE wake_at = 'infinity' LIMIT 100`;

/** A private of the store's. */
export const runnerIn = (store: AttemptStore | NodeStore): Runner =>
  (store as unknown as { runner: Runner }).runner;
