import { EntityManager } from 'typeorm';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { Order } from '../../../src/shop/orders/order.entity.js';
import { runnerIn } from './claims.js';
import type { Mutant } from './mutant.js';

/** Mutants that write down wrongly how an attempt, a delay or an order ended. */
export const ENDINGS: Record<string, Mutant> = {
  'writes-no-history': {
    about: 'removes completed rows without a line in history',
    faults: [],
    seconds: 6,
    apply: (surgery) => {
      surgery.rewrite('complete', { 'WHERE a.id IS NOT NULL': 'WHERE false' });
      surgery.rewrite('completeOne', { 'FROM gone g, clock': 'FROM gone g, clock WHERE false' });
    },
  },
  'throws-dead-letters-away': {
    about: 'deletes what has used up its attempts',
    faults: [],
    seconds: 15,
    apply: (surgery) =>
      surgery.wrap(
        AttemptStore.prototype,
        'retry',
        (original) =>
          async function buried(this: AttemptStore, items) {
            const rows = await original.call(this, items);
            const dead = items.filter(({ waitMs }) => waitMs === null).map(({ id }) => id);
            await runnerIn(this).query(THROW_AWAY, [dead]);
            return rows;
          },
      ),
  },
  'resets-attempts': {
    about: 'gives a failed delay all its attempts again',
    faults: [],
    seconds: 10,
    apply: (surgery) =>
      surgery.rewrite('settle', {
        'attempts = d.attempts - l.refund': 'attempts = 0 * (d.attempts - l.refund)',
      }),
  },
  'closes-paid-orders': {
    about: 'is a shop whose close does not look whether the order was paid',
    faults: [],
    seconds: 15,
    // Payments have to come in the very moment in which their order is being closed.
    rate: 200,
    apply: (surgery) =>
      surgery.wrap(
        EntityManager.prototype,
        'update',
        (original) =>
          function regardless(this: EntityManager, target, criteria, set) {
            const closes = target === Order && 'closeReason' in set && 'id' in (criteria as object);
            const { id } = criteria as { id: string };
            return original.call(this, target, closes ? { id } : criteria, set);
          } as EntityManager['update'],
      ),
  },
};

const THROW_AWAY = `DELETE FROM delay_queue.delay WHERE id = ANY ($1::bigint[]) AND wake_at = 'infinity'`;
