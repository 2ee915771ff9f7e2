import { randomUUID } from 'node:crypto';
import { describe } from '@jest/globals';
import { expectBroken } from './support/expect-broken.js';
import type { Scene } from './support/scene.js';

interface OrderRow {
  status: string;
  /** Milliseconds from now. */
  deadlineMs?: number;
  paid?: boolean;
  closed?: boolean;
}

/** An order as it lies in the table, with nothing else around it. */
async function order(scene: Scene, { status, deadlineMs = -1_000, paid, closed }: OrderRow) {
  const id = randomUUID();
  await scene.sql(
    `INSERT INTO orders (id, status, total, merchant_id, confirm_after_ms, rate_after_ms, pay_deadline, paid_at,
                         closed_at, close_reason)
     VALUES ($1, $2, 1, 'tea-house', 1, 1, clock_timestamp() + $3 * interval '1 millisecond',
             CASE WHEN $4 THEN clock_timestamp() END, CASE WHEN $5 THEN clock_timestamp() END,
             CASE WHEN $5 THEN 'not paid in time' END)`,
    [id, status, deadlineMs, paid ?? false, closed ?? false],
  );
  return id;
}

const pay = (scene: Scene, key: string): string =>
  scene.log.invoke({ verb: 'pay', name: 'order.close', key, token: null, inTransaction: true });

describe('5: paid or closed', () => {
  expectBroken({
    'a payment that was acknowledged and is not there': {
      breaks: [5],
      says: /pay was acknowledged, and the order is CLOSED/,
      happens: async (scene) => {
        const id = await order(scene, { status: 'CLOSED', closed: true });
        scene.log.ok(pay(scene, id), { verdict: 'paid', id: null, dueMs: null });
      },
    },
    'paid, and the buyer was refused': {
      breaks: [5],
      says: /every call was told that it was not/,
      happens: async (scene) => {
        const id = await order(scene, { status: 'PAID', paid: true });
        scene.log.fail(pay(scene, id), new Error('the time to pay is over'));
      },
    },
    'an order that was acknowledged and is not there': {
      breaks: [5],
      says: /was told that order .* is placed, and there is none/,
      happens: async ({ log }) => {
        const key = randomUUID();
        const asked = { verb: 'place', name: 'order.close', key, token: null } as const;
        const call = log.invoke({ ...asked, inTransaction: true });
        log.ok(call, { verdict: 'placed', id: randomUUID(), dueMs: Date.now() });
      },
    },
  });
});

describe('6: stock', () => {
  expectBroken({
    'given back twice': {
      breaks: [6],
      says: /stock and what open orders hold add up .* 1 of 6 broken, such as TEA-GREEN/,
      happens: (scene) => scene.sql(`UPDATE sku SET stock = stock + 1 WHERE sku = 'TEA-GREEN'`),
    },
  });
});
