import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { InvariantsService } from '../../src/shop/invariants/invariants.service.js';
import { INVARIANTS } from '../../src/shop/invariants/invariants.sql.js';
import { campaign, campaignWhen, isCompleted } from './support/campaigns.js';
import { RunningShop } from './support/running-shop.js';

describe('GET /invariants', () => {
  let shop: RunningShop;

  beforeAll(async () => {
    shop = await RunningShop.open();
    for (const path of [[], ['cancel'], ['pay', 'ship', 'confirm'], ['pay', 'ship']]) {
      await shop.orderAfter(...path);
    }
    const { id } = await shop.orderAfter('pay', 'ship');
    await shop.act(id, 'dispute', { reason: 'nothing arrived' });
    const { id: campaignId } = await campaign(shop, ['one', 'two']);
    await campaignWhen(shop, campaignId, isCompleted);
    await campaign(shop, ['three'], { inMs: 3_600_000 });
  });
  afterAll(() => shop.close());

  /** What does not hold after that damage, which is taken back at once. */
  async function brokenBy(damage: string): Promise<string[]> {
    const runner = shop.app.get(DataSource).createQueryRunner();
    await runner.startTransaction();
    try {
      await runner.manager.query(damage);
      const broken: string[] = [];
      for (const [name, sql] of Object.entries(INVARIANTS)) {
        const [finding] = await runner.manager.query(sql);
        if (finding.broken > 0) broken.push(name);
      }
      return broken;
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  }

  // A check that cannot fail proves nothing. What constraints forbid is allowed for a moment.
  it.each([
    ['stock', `UPDATE sku SET stock = stock - 1 WHERE sku = 'CUP-WHITE'`],
    ...['CLOSED', 'UNPAID', 'SHIPPED'].map((status) => [
      'keeps one payment of its total',
      `INSERT INTO payment (id, order_id, provider, "transaction", amount, status)
       SELECT gen_random_uuid(), id, 'test', 'kept', total, 'CAPTURED'
       FROM orders WHERE status = '${status}' LIMIT 1`,
    ]),
    [
      'keeps one payment of its total',
      `INSERT INTO payment (id, order_id, provider, "transaction", amount, status)
       VALUES (gen_random_uuid(), gen_random_uuid(), 'test', 'of nothing', 1, 'CAPTURED')`,
    ],
    ['keeps one payment of its total', `UPDATE payment SET amount = amount + 1`],
    ['keeps one payment of its total', `DELETE FROM payment`],
    ['completed order is rated', `DELETE FROM delay_queue.delay WHERE name = 'order.rate'`],
    [
      'at most one review',
      `ALTER TABLE review DROP CONSTRAINT pk_review;
       INSERT INTO review (order_id, stars, source)
       SELECT id, 5, 'buyer' FROM orders, generate_series(1, 2) WHERE status = 'COMPLETED'`,
    ],
    [
      'every payment that goes back has its refund',
      `INSERT INTO payment (id, order_id, provider, "transaction", amount, status, refund_reason)
       VALUES (gen_random_uuid(), gen_random_uuid(), 'test', 'lost', 1, 'REFUND_PENDING', 'a test')`,
    ],
    [
      'the provider has paid back',
      `INSERT INTO payment (id, order_id, provider, "transaction", amount, status, refund_reason,
                            refunded_at)
       VALUES (gen_random_uuid(), gen_random_uuid(), 'test', 'kept', 1, 'REFUNDED', 'a test',
               clock_timestamp())`,
    ],
    [
      'the provider has paid back',
      `INSERT INTO sample_refund (payment_id, amount) SELECT id, amount FROM payment LIMIT 1`,
    ],
    [
      'the provider has paid back',
      `INSERT INTO sample_refund (payment_id, amount) VALUES (gen_random_uuid(), 1)`,
    ],
    ['exactly one live order.close', `DELETE FROM delay_queue.delay WHERE name = 'order.close'`],
    ['one live order.confirm', `DELETE FROM delay_queue.delay WHERE name = 'order.confirm'`],
    ['one live order.confirm', `DELETE FROM frozen_timer WHERE name = 'order.confirm'`],
    [
      'timers are frozen while',
      `INSERT INTO frozen_timer (order_id, name, left_ms)
       SELECT id, 'order.rate', 1 FROM orders WHERE status = 'COMPLETED'`,
    ],
    ['timers are frozen while', `UPDATE dispute SET released_at = clock_timestamp()`],
    [
      'every message is sent',
      `INSERT INTO outbox (order_id, kind, text)
       SELECT id, 'order.placed', 'nobody sends this' FROM orders LIMIT 1`,
    ],
    [
      'exactly one live campaign.send',
      `DELETE FROM delay_queue.delay WHERE name = 'campaign.send'`,
    ],
    [
      'each of its recipients at most once',
      `INSERT INTO sample_campaign_message (id, campaign_id, recipient, text)
       SELECT 'again', campaign_id, recipient, text FROM sample_campaign_message LIMIT 1`,
    ],
    [
      'each of its recipients at most once',
      `INSERT INTO sample_campaign_message (id, campaign_id, recipient, text)
       SELECT 'too early', campaign_id, recipient, 'a test' FROM campaign_recipient
       WHERE state = 'PENDING'`,
    ],
    [
      'each of its recipients at most once',
      `INSERT INTO sample_campaign_message (id, campaign_id, recipient, text)
       SELECT 'nobody', id, 'a stranger', 'a test' FROM campaign LIMIT 1`,
    ],
    [
      'over for all of its recipients',
      `INSERT INTO campaign_recipient (campaign_id, recipient)
       SELECT id, 'forgotten' FROM campaign WHERE state = 'COMPLETED'`,
    ],
    [
      'told each thing at most once',
      `ALTER TABLE outbox DROP CONSTRAINT uq_outbox_order_kind;
       INSERT INTO outbox (order_id, kind, text, sent_at)
       SELECT order_id, kind, text, clock_timestamp() FROM outbox`,
    ],
  ])('notices when this breaks: %s', async (name, damage) => {
    expect(await brokenBy(damage)).toEqual([expect.stringContaining(name)]);
  });

  it('entities and migrations agree', async () => {
    const { upQueries } = await shop.app.get(DataSource).driver.createSchemaBuilder().log();
    expect(upQueries.map(({ query }) => query)).toEqual([]);
  });

  it('who ask while a look is under way share the next one, which sees what was written meanwhile', async () => {
    const dataSource = shop.app.get(DataSource);
    const service = new InvariantsService(dataSource, { demo: true });
    const holder = dataSource.createQueryRunner();
    await holder.startTransaction();
    await holder.query('LOCK TABLE sample_refund IN ACCESS EXCLUSIVE MODE');
    const first = service.check();
    await shop.untilWaiting(1);
    await shop.sql(`UPDATE sku SET stock = stock - 1 WHERE sku = 'CUP-WHITE'`);
    const others = new Set(Array.from({ length: 40 }, () => service.check()));
    await holder.commitTransaction();
    await holder.release();
    expect(others.size).toBe(1);
    expect((await first).ok).toBe(true);
    for (const other of others) expect((await other).ok).toBe(false);
    await shop.sql(`UPDATE sku SET stock = stock + 1 WHERE sku = 'CUP-WHITE'`);
    expect((await service.check()).ok).toBe(true);
  });

  it('answers one line per check, and what is wrong with it', async () => {
    const { ok, checks } = await shop.invariants();
    expect(ok).toBe(true);
    expect(checks.map(({ name }) => name)).toEqual(Object.keys(INVARIANTS));
    expect(checks[0]).toEqual({ name: expect.any(String), ok: true, detail: expect.any(String) });
    await shop.sql(`UPDATE sku SET stock = stock - 1 WHERE sku = 'CUP-WHITE'`);
    expect(await shop.broken()).toEqual([
      expect.stringMatching(/^stock .*: 1 broken, such as CUP/),
    ]);
  });
});
