import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { ORDER_DELAYS } from '../../src/shop/delays.js';
import { OF_A_KIND_MAX, ORDER_PICTURE } from '../../src/shop/orders/order-picture.sql.js';
import type { OrderView } from '../../src/shop/orders/orders.schemas.js';
import { explain } from '../support/explain.js';
import { RunningShop } from './support/running-shop.js';

const ID = '6b0c1d0e-0000-4000-8000-000000000001';
const OTHER = '6b0c1d0e-0000-4000-8000-000000000002';
const KEPT = '6b0c1d0e-0000-4000-8000-00000000000a';
const REFUSED = '6b0c1d0e-0000-4000-8000-00000000000b';
const FOREIGN = '6b0c1d0e-0000-4000-8000-00000000000c';
const REASON = 'it "broke" \\ 破れた 🍵';

/**
 * Instants to the microsecond, in a zone of their own, and so late that no history is old enough to be
 * deleted; a bigint as large as a number may be.
 */
const ROWS = [
  `INSERT INTO orders (id, status, total, merchant_id, pay_deadline, extended, confirm_after_ms,
                       rate_after_ms, placed_at, paid_at, shipped_at, extended_at, disputed_at)
   SELECT id, 'SHIPPED', 1780, 'tea-house', '2086-01-01 00:30:00.999999+00', true, 315360000000,
          172800000, '2086-01-01 05:30:00.0009+05:30', '2086-01-01 00:01:00+00',
          '2086-01-01 00:02:00+00', '2086-01-01 00:03:00+00', '2086-01-01 00:06:00+00'
   FROM unnest(ARRAY['${ID}', '${OTHER}']::uuid[]) AS id`,
  `INSERT INTO order_item (order_id, sku, name, price, quantity)
   VALUES ('${ID}', 'TEA-GREEN', 'Green tea', 890, 1), ('${ID}', 'CUP-WHITE', 'Cup', 445, 2)`,
  `INSERT INTO payment (id, order_id, provider, transaction, amount, status, refund_reason, captured_at)
   VALUES ('${REFUSED}', '${ID}', 'card', 'tx-2', 5, 'REFUND_PENDING', 'twice', '2086-01-01 00:04:00+00'),
          ('${KEPT}', '${ID}', 'card', 'tx-1', 1780, 'CAPTURED', NULL, '2086-01-01 00:01:00.000001+00'),
          ('${FOREIGN}', '${OTHER}', 'card', 'tx-3', 1780, 'CAPTURED', NULL, now())`,
  `INSERT INTO payment_conflict (id, payment_id, order_id, amount, reported_at)
   VALUES (gen_random_uuid(), '${KEPT}', '${OTHER}', 7, '2086-01-01 00:05:00+00'),
          (gen_random_uuid(), '${FOREIGN}', '${ID}', 8, '2086-01-01 00:05:01+00'),
          (gen_random_uuid(), '${FOREIGN}', '${OTHER}', 9, '2086-01-01 00:05:02+00')`,
  `INSERT INTO review (order_id, stars, source, created_at)
   VALUES ('${ID}', 4, 'automatic', '2086-01-01 00:10:00+00')`,
  `INSERT INTO outbox (order_id, kind, text, sent_at, dropped_at)
   VALUES ('${ID}', 'order.paid', 'paid', '2086-01-01 00:01:01+00', NULL),
          ('${ID}', 'order.reminder', 'pay', NULL, '2086-01-01 00:01:02+00'),
          ('${ID}', 'order.shipped', 'on its way', NULL, NULL)`,
  `INSERT INTO dispute (id, order_id, reason, opened_at, released_at)
   VALUES (gen_random_uuid(), '${ID}', 'late', '2086-01-01 00:05:30+00', '2086-01-01 00:05:40+00'),
          (gen_random_uuid(), '${ID}', '${REASON}', '2086-01-01 00:06:00+00', NULL)`,
  `INSERT INTO frozen_timer (order_id, name, left_ms)
   VALUES ('${ID}', 'order.sms', 9007199254740991), ('${ID}', 'order.confirm', 0)`,
  `INSERT INTO delay_queue.delay (name, key, payload, created_at, due_at, wake_at, attempts,
                                  leased_by, leased_until, last_error)
   SELECT name, key, '{}', now(), '2086-02-01 00:00:00.0019+00', wake_at, attempts,
          CASE WHEN leased THEN 'another process' END,
          CASE WHEN leased THEN timestamptz '2096-01-01' END, error
   FROM (VALUES ('order.confirm', '${ID}', timestamptz '2096-01-01', 0, false, NULL),
                ('order.rate', '${ID}', '2096-01-01', 2, false, 'no'),
                ('order.sms', '${ID}', '2096-01-01', 1, true, NULL),
                ('order.sms', '${OTHER}', '2096-01-01', 0, false, NULL),
                ('payment.refund', '${REFUSED}', 'infinity', 3, false, 'the card "is" gone'))
     AS waiting (name, key, wake_at, attempts, leased, error)`,
  `INSERT INTO delay_queue.history (id, epoch, name, key, created_at, due_at, ended_at, lateness_ms,
                                    attempts, state, error)
   VALUES (9001, 1, 'order.close', '${ID}', now(), '2086-01-01 00:30:00.999999+00',
           '2086-01-01 00:01:00.000999+00', NULL, 0, 'cancelled', NULL),
          (9002, 1, 'payment.refund', '${REFUSED}', now(), '2086-01-01 00:04:00+00',
           '2086-01-01 00:04:09+00', 8999.96, 2, 'discarded', 'no such card')`,
];

/** With the names of the two orders where they are told of. */
const linesOf = ({ timeline }: OrderView): string[] =>
  timeline.map(({ at, event, detail }) =>
    `${at.replace('2086-01-01T', '')} ${event}: ${detail}`
      .replaceAll(ID, 'this one')
      .replaceAll(OTHER, 'the other'),
  );

describe('the view of an order', () => {
  // Rows that nobody placed break the invariants.
  let shop: RunningShop;
  beforeAll(async () => {
    shop = await RunningShop.open();
  });
  afterAll(() => shop.close());

  it('tells of all that belongs to it, and of nothing that belongs to another', async () => {
    for (const rows of ROWS) await shop.sql(rows);
    const order: OrderView = (await shop.get(`/orders/${ID}`)).body;
    const { serverNow: _, timeline: _timeline, ...now } = order;
    const dueAt = '2086-02-01T00:00:00.001Z';
    const kept = { provider: 'card', refundReason: null, refundError: null, refundedAt: null };
    expect(now).toEqual({
      id: ID,
      no: expect.any(Number),
      status: 'SHIPPED',
      merchant: 'tea-house',
      closeReason: null,
      total: 1780,
      placedAt: '2086-01-01T00:00:00.000Z',
      payDeadline: '2086-01-01T00:30:00.999Z',
      autoConfirmAt: null,
      extended: true,
      terms: { confirmAfterMs: 315_360_000_000, rateAfterMs: 172_800_000 },
      dispute: {
        reason: REASON,
        openedAt: '2086-01-01T00:06:00.000Z',
        frozen: [
          { name: 'order.confirm', leftMs: 0 },
          { name: 'order.sms', leftMs: Number.MAX_SAFE_INTEGER },
        ],
      },
      items: [
        { sku: 'CUP-WHITE', name: 'Cup', price: 445, quantity: 2 },
        { sku: 'TEA-GREEN', name: 'Green tea', price: 890, quantity: 1 },
      ],
      payments: [
        {
          ...kept,
          id: KEPT,
          status: 'CAPTURED',
          amount: 1780,
          transaction: 'tx-1',
          capturedAt: '2086-01-01T00:01:00.000Z',
        },
        {
          ...kept,
          id: REFUSED,
          status: 'REFUND_PENDING',
          amount: 5,
          transaction: 'tx-2',
          refundReason: 'twice',
          refundError: 'the card "is" gone',
          capturedAt: '2086-01-01T00:04:00.000Z',
        },
      ],
      review: { stars: 4, source: 'automatic' },
      delays: [
        { name: 'order.confirm', state: 'scheduled', dueAt, attempts: 0 },
        { name: 'order.rate', state: 'retrying', dueAt, attempts: 2 },
        { name: 'order.sms', state: 'running', dueAt, attempts: 1 },
        { name: 'payment.refund', state: 'dead', dueAt, attempts: 3 },
      ],
    });
    expect(linesOf(order)).toEqual([
      '00:00:00.000Z order placed: null',
      '00:01:00.000Z order paid: null',
      '00:01:00.000Z payment captured: 1780 by card',
      '00:01:00.000Z order.close cancelled: due 2086-01-01T00:30:00.999Z',
      '00:01:01.000Z message sent: order.paid',
      '00:01:02.000Z message dropped: order.reminder',
      '00:02:00.000Z order shipped: null',
      '00:03:00.000Z time to confirm extended: null',
      '00:04:00.000Z payment captured: 5 by card',
      '00:04:09.000Z payment.refund discarded: due 2086-01-01T00:04:00.000Z, 9000.0 ms late, 2 attempts, no such card',
      '00:05:00.000Z payment report contradicted: tx-1 by card: 7 for order the other reported, 1780 for order this one on record',
      '00:05:01.000Z payment report contradicted: tx-3 by card: 8 for order this one reported, 1780 for order the other on record',
      '00:05:30.000Z dispute opened: late',
      '00:05:40.000Z dispute released: null',
      `00:06:00.000Z dispute opened: ${REASON}`,
      '00:10:00.000Z order rated: 4 stars, automatic',
    ]);
  });

  it('tells of the newest payments, disputes and contradictions, however many anybody reports', async () => {
    const { id } = await shop.orderAfter('pay');
    await shop.sql(
      `INSERT INTO payment (id, order_id, provider, "transaction", amount, status, refund_reason, captured_at)
       SELECT gen_random_uuid(), '${id}', 'test', 'again ' || n, 1, 'REFUND_PENDING', 'twice',
              now() + n * interval '1 s'
       FROM generate_series(1, 700) AS n`,
    );
    await shop.sql(
      `INSERT INTO dispute (id, order_id, reason, opened_at, released_at)
       SELECT gen_random_uuid(), '${id}', 'again ' || n, now() + n * interval '1 s', now()
       FROM generate_series(1, 700) AS n`,
    );
    await shop.sql(
      `INSERT INTO payment_conflict (id, payment_id, order_id, amount, reported_at)
       SELECT gen_random_uuid(), payment.id, '${id}', n, now() + n * interval '1 s'
       FROM payment, generate_series(1, 700) AS n
       WHERE order_id = '${id}' AND status = 'CAPTURED'`,
    );
    const { payments, timeline } = await shop.order(id);
    expect(payments).toHaveLength(OF_A_KIND_MAX);
    expect(payments.filter(({ status }) => status === 'CAPTURED')).toHaveLength(1);
    const transactions = payments.map(({ transaction }) => transaction);
    expect(transactions).toContain('again 700');
    expect(transactions).not.toContain('again 600');
    const details = (what: string) =>
      timeline.filter(({ event }) => event === what).map(({ detail }) => detail);
    const opened = details('dispute opened');
    expect(opened).toHaveLength(OF_A_KIND_MAX);
    expect([opened[0], opened.at(-1)]).toEqual(['again 601', 'again 700']);
    const told = details('payment report contradicted');
    expect(told).toHaveLength(OF_A_KIND_MAX);
    expect(told.at(-1)).toMatch(/700/);
  });

  it('tells of the newest 500 ends of its timers', async () => {
    const { id } = await shop.orderAfter();
    await endOften(id, 700);
    const { timeline } = await shop.order(id);
    const ends = timeline.filter(({ event }) => event === 'order.rate completed');
    expect(ends).toHaveLength(500);
    expect(ends.at(0)?.at).toBe('2086-01-01T00:03:21.000Z');
    expect(ends.at(-1)?.at).toBe('2086-01-01T00:11:40.000Z');
  });

  it('looks the delays up, also in tables that were empty at their last ANALYZE', async () => {
    const client = new Client({ connectionString: shop.database.url });
    await client.connect();
    try {
      // Emptied but not cut off, as when somebody holds the last page: there, no index looks better
      // than another, and none better than the whole table.
      for (const table of ['delay', 'history']) {
        await client.query(`DELETE FROM delay_queue.${table}`);
        await client.query(`VACUUM (ANALYZE, TRUNCATE false) delay_queue.${table}`);
      }
      const { id } = await shop.orderAfter('pay');
      await client.query(
        `INSERT INTO delay_queue.delay (name, key, payload, created_at, due_at, wake_at)
         SELECT 'order.rate', n::text, '{}', now(), '2096-01-01', '2096-01-01'
         FROM generate_series(1, 20000) AS n`,
      );
      await endOften('another', 20_000);
      const plan = await explain(client, ORDER_PICTURE, [id, ORDER_DELAYS]);
      expect(plan.waysInto('delay')).toEqual(['Index Scan delay_key']);
      expect(plan.waysInto('history')).toEqual(['Index Scan history_key']);
      expect(plan.buffers).toBeLessThan(200);
      expect(plan.compiles).toBe(false);
    } finally {
      await client.end();
    }
  });

  /** The first of them at one second past midnight, one a second. */
  const endOften = (key: string, count: number) =>
    shop.sql(
      `INSERT INTO delay_queue.history (id, epoch, name, key, created_at, due_at, ended_at, attempts, state)
       SELECT 10000 + n, 1, 'order.rate', $1, now(), now(),
              timestamptz '2086-01-01 00:00:00+00' + n * interval '1 second', 1, 'completed'
       FROM generate_series(1, $2::int) AS n`,
      [key, count],
    );
});
