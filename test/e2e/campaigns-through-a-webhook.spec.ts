import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { until } from '../support/until.js';
import { campaign, campaignWhen, isCompleted, people, progressOf } from './support/campaigns.js';
import { RunningShop } from './support/running-shop.js';
import { isSent, messageWhen } from './support/told.js';
import { Webhook, type Posted } from './support/webhook.js';

const HOUR_MS = 3_600_000;
const RATE = 5;

describe('campaigns through a webhook', () => {
  let webhook: Webhook;
  let shop: RunningShop;
  let us: Client;

  beforeAll(async () => {
    webhook = await Webhook.open();
    const provider = { messagesUrl: webhook.url, webhookTimeoutMs: HOUR_MS };
    shop = await RunningShop.open({ ...provider, messagesPerSecond: RATE });
    us = new Client(shop.database.url);
    await us.connect();
  });
  afterEach(async () => {
    await shop.mustHold();
    webhook.posted.length = 0;
    webhook.answersTo.clear();
  });
  afterAll(async () => {
    await us.end();
    await shop.close();
    await webhook.close();
  });

  const postsTo = (recipient: string): Posted[] =>
    webhook.posted.filter(({ body }) => body.recipient === recipient);
  const untilPosted = (count: number): Promise<number> =>
    until(
      () => webhook.posted.length,
      (posts) => posts === count,
    );
  const recipient = async (campaignId: string, name: string) =>
    (
      await shop.sql<Record<string, unknown>[]>(
        `SELECT state, attempts, error FROM campaign_recipient
         WHERE campaign_id = $1 AND recipient = $2`,
        [campaignId, name],
      )
    )[0];
  /** Twice, as the same. */
  const isPostedAgainTo = (name: string): void => {
    expect(postsTo(name)).toHaveLength(2);
    expect(new Set(postsTo(name).map(({ key }) => key)).size).toBe(1);
  };

  it('who is refused for good is given up at once, who is answered 429 is tried again under the same key, ten times at most', async () => {
    webhook.answersTo.set('p-02', 400).set('p-03', 429).set('p-04', 503);
    const { id } = await campaign(shop, people(4), { inMs: HOUR_MS });
    await shop.sql(
      `UPDATE campaign_recipient SET attempts = 8 WHERE recipient IN ('p-03', 'p-04')`,
    );
    await shop.fallsDue('campaign.send', id);
    const waiting = await campaignWhen(shop, id, ({ counts }) => counts.failed === 1);
    expect(waiting).toMatchObject({ state: 'RUNNING', counts: { sent: 1, pending: 2 } });
    expect(await recipient(id, 'p-03')).toMatchObject({ error: 'the webhook answered 429' });
    webhook.answersTo.delete('p-03');
    await shop.sql(`UPDATE campaign_recipient SET retry_at = clock_timestamp()`);
    await shop.fallsDue('campaign.send', id);
    expect(await campaignWhen(shop, id, isCompleted)).toMatchObject({
      counts: { total: 4, sent: 2, failed: 2 },
      failures: [
        { recipient: 'p-02', reason: 'the webhook answered 400' },
        { recipient: 'p-04', reason: 'the webhook answered 503' },
      ],
    });
    expect(await recipient(id, 'p-03')).toMatchObject({ state: 'SENT', error: null });
    for (const name of ['p-03', 'p-04']) isPostedAgainTo(name);
    expect(postsTo('p-02')).toHaveLength(1);
    const [post, ...more] = postsTo('p-01');
    const body = { campaignId: id, kind: 'campaign', recipient: 'p-01' };
    expect([post, more]).toEqual([
      {
        key: expect.stringMatching(/^campaign-\d+$/),
        body: { id: post!.key, ...body, text: 'New teas have arrived' },
      },
      [],
    ]);
  });

  it('a shutdown in the middle of a batch refuses nobody, and one in the middle of a post spends no attempt: both go again under the same keys', async () => {
    webhook.answersTo.set('p-02', null);
    const { id } = await campaign(shop, people(3));
    await untilPosted(3);
    webhook.answers = null;
    const order = await shop.orderAfter('pay');
    await untilPosted(4);
    await shop.stop();
    webhook.answers = 204;
    webhook.answersTo.clear();
    await shop.start();

    await campaignWhen(shop, id, isCompleted);
    expect(await recipient(id, 'p-02')).toMatchObject({ state: 'SENT', attempts: 0 });
    isPostedAgainTo('p-02');
    // What was accepted before was written down before.
    expect(postsTo('p-01')).toHaveLength(1);
    const message = await messageWhen(shop, order.id, 'order.paid', isSent);
    const [ended] = await until(
      () => shop.app.get(DelayService).history('message.send', message.id),
      (records) => records.length > 0,
    );
    expect(ended).toMatchObject({ state: 'completed', attempts: 1, error: null });
  });

  /** Whoever does that stands still until we let them go on. */
  const hold = (trigger: string) =>
    us.query(
      `CREATE FUNCTION wait_for_us() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN coalesce(NEW, OLD); END $$;
       CREATE TRIGGER wait_for_us ${trigger} EXECUTE FUNCTION wait_for_us();
       SELECT pg_advisory_lock(42)`,
    );
  const isWaiting = async (event: 'advisory' | 'transactionid'): Promise<boolean> => {
    const { rowCount } = await us.query(
      `SELECT FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = $1`,
      [event],
    );
    return rowCount! > 0;
  };
  /** A campaign whose first batch is with the provider, who does not answer to one of them. */
  const inTheMiddle = async (count: number): Promise<string> => {
    webhook.answersTo.set('p-01', null);
    const { id } = await campaign(shop, people(count));
    await untilPosted(RATE);
    return id;
  };

  const resume = async (id: string): Promise<void> => {
    let isAnswered = false;
    const resuming = shop.post(`/campaigns/${id}/resume`).finally(() => {
      isAnswered = true;
    });
    await until(async () => isAnswered || (await isWaiting('transactionid')), Boolean);
    await us.query(`SELECT pg_advisory_unlock(42)`);
    expect((await resuming).status).toBe(200);
    await campaignWhen(shop, id, isCompleted);
  };

  describe('who resumes in the moment in which', () => {
    afterEach(() => us.query(`DROP FUNCTION wait_for_us CASCADE`));

    it('a stop has cut the batch: only who was not accepted gets it again, under the same key', async () => {
      await hold(
        `BEFORE DELETE ON delay_queue.delay FOR EACH ROW WHEN (OLD.name = 'campaign.send')`,
      );
      const id = await inTheMiddle(RATE + 2);
      const stopping = shop.post(`/campaigns/${id}/stop`);
      await until(() => isWaiting('advisory'), Boolean);
      webhook.answersTo.clear();
      await resume(id);
      expect((await stopping).status).toBe(200);
      const all = { total: RATE + 2, sent: RATE + 2 };
      expect((await progressOf(shop, id)).counts).toMatchObject(all);
      expect(webhook.posted).toHaveLength(RATE + 2 + 1);
      isPostedAgainTo('p-01');
    });

    it('the last batch is over is answered, and nobody is forgotten', async () => {
      await hold(`BEFORE UPDATE ON campaign FOR EACH ROW WHEN (NEW.state = 'COMPLETED')`);
      const id = await inTheMiddle(RATE);
      webhook.letGo();
      await until(() => isWaiting('advisory'), Boolean);
      await resume(id);
      const all = { total: RATE, sent: RATE };
      expect((await progressOf(shop, id)).counts).toMatchObject(all);
      expect(webhook.posted).toHaveLength(RATE);
    });
  });
});
