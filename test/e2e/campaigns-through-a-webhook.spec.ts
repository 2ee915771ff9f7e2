import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { Client } from 'pg';
import { until } from '../support/until.js';
import { campaign, campaignWhen, isCompleted, people, progressOf } from './support/campaigns.js';
import { RunningShop } from './support/running-shop.js';
import { Webhook } from './support/webhook.js';

const HOUR_MS = 3_600_000;

describe('campaigns through a webhook', () => {
  let webhook: Webhook;
  let shop: RunningShop;

  beforeEach(async () => {
    webhook = await Webhook.open();
    shop = await RunningShop.open({
      messagesUrl: webhook.url,
      messagesTimeoutMs: HOUR_MS,
      messagesPerSecond: 10,
    });
  });
  afterEach(async () => {
    await shop.mustHold();
    await shop.close();
    await webhook.close();
  });

  const postsTo = (recipient: string) =>
    webhook.posted.filter(({ body }) => body.recipient === recipient);
  const recipient = async (name: string) =>
    (
      await shop.sql<Record<string, unknown>[]>(
        `SELECT state, attempts, error FROM campaign_recipient WHERE recipient = $1`,
        [name],
      )
    )[0];

  it('who is refused for good is given up at once, and the campaign completes', async () => {
    webhook.answersTo.set('p-02', 400);
    const { id } = await campaign(shop, people(3));
    expect(await campaignWhen(shop, id, isCompleted)).toMatchObject({
      counts: { total: 3, sent: 2, failed: 1 },
      failures: [{ recipient: 'p-02', reason: 'the webhook answered 400' }],
    });
    expect(webhook.posted).toHaveLength(3);
    const [post] = postsTo('p-01');
    expect(post).toEqual({
      key: expect.stringMatching(/^campaign-\d+$/),
      body: {
        id: post!.key,
        campaignId: id,
        kind: 'campaign',
        recipient: 'p-01',
        text: 'New teas have arrived',
      },
    });
  });

  it('who is answered 429 is tried again, under the same key; ten times, and is given up', async () => {
    webhook.answersTo.set('p-02', 429);
    webhook.answersTo.set('p-03', 503);
    const { id } = await campaign(shop, people(3), { inMs: HOUR_MS });
    await shop.sql(`UPDATE campaign_recipient SET attempts = 8 WHERE recipient = 'p-03'`);
    await shop.app.get(DelayService).reschedule('campaign.send', id, { after: 0 });
    const waiting = await campaignWhen(
      shop,
      id,
      ({ counts }) => counts.sent === 1 && counts.pending === 2,
    );
    expect(waiting.state).toBe('RUNNING');
    expect(await recipient('p-02')).toMatchObject({ error: 'the webhook answered 429' });
    webhook.answersTo.delete('p-02');
    await shop.sql(`UPDATE campaign_recipient SET retry_at = clock_timestamp()`);
    await shop.app.get(DelayService).reschedule('campaign.send', id, { after: 0 });
    expect(await campaignWhen(shop, id, isCompleted)).toMatchObject({
      counts: { total: 3, sent: 2, failed: 1 },
      failures: [{ recipient: 'p-03', reason: 'the webhook answered 503' }],
    });
    expect(await recipient('p-02')).toMatchObject({ state: 'SENT', error: null });
    for (const name of ['p-02', 'p-03']) {
      expect(postsTo(name)).toHaveLength(2);
      expect(new Set(postsTo(name).map(({ key }) => key)).size).toBe(1);
    }
    expect(postsTo('p-01')).toHaveLength(1);
  });

  it('a shutdown in the middle of a batch refuses nobody, and sends again under the same keys', async () => {
    webhook.answersTo.set('p-02', null);
    const { id } = await campaign(shop, people(3));
    await until(
      () => webhook.posted.length,
      (posts) => posts === 3,
    );
    await shop.stop();
    webhook.answersTo.clear();
    await shop.start();
    await campaignWhen(shop, id, isCompleted);
    expect(await recipient('p-02')).toMatchObject({ state: 'SENT', attempts: 0 });
    expect(postsTo('p-02')).toHaveLength(2);
    expect(new Set(postsTo('p-02').map(({ key }) => key)).size).toBe(1);
    // What was accepted before was written down before.
    expect(postsTo('p-01')).toHaveLength(1);
  });

  /** A campaign whose first batch is with the provider, who does not answer to one of them. */
  const inTheMiddle = async (count: number): Promise<string> => {
    webhook.answersTo.set('p-01', null);
    const { id } = await campaign(shop, people(count));
    await until(
      () => webhook.posted.length,
      (posts) => posts === 10,
    );
    return id;
  };
  describe('who resumes in the moment in which', () => {
    let us: Client;
    beforeEach(async () => {
      us = new Client(shop.database.url);
      await us.connect();
    });
    afterEach(() => us.end());

    /** Whoever does that stands still until we let them go on. */
    const hold = (trigger: string) =>
      us.query(
        `CREATE FUNCTION wait_for_us() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN coalesce(NEW, OLD); END $$;
         CREATE TRIGGER wait_for_us ${trigger} EXECUTE FUNCTION wait_for_us();
         SELECT pg_advisory_lock(42)`,
      );
    const waiting = async (event: 'advisory' | 'transactionid') => {
      const { rowCount } = await us.query(
        `SELECT FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = $1`,
        [event],
      );
      return rowCount! > 0;
    };
    const resume = async (id: string): Promise<void> => {
      let isAnswered = false;
      const resuming = shop.post(`/campaigns/${id}/resume`).finally(() => {
        isAnswered = true;
      });
      await until(async () => isAnswered || (await waiting('transactionid')), Boolean);
      await us.query(`SELECT pg_advisory_unlock(42)`);
      expect((await resuming).status).toBe(200);
      await campaignWhen(shop, id, isCompleted);
    };

    it('a stop has cut the batch: only who was not accepted gets it again, under the same key', async () => {
      await hold(
        `BEFORE DELETE ON delay_queue.delay FOR EACH ROW WHEN (OLD.name = 'campaign.send')`,
      );
      const id = await inTheMiddle(15);
      const stopping = shop.post(`/campaigns/${id}/stop`);
      await until(() => waiting('advisory'), Boolean);
      webhook.answersTo.clear();
      await resume(id);
      expect((await stopping).status).toBe(200);
      expect((await progressOf(shop, id)).counts).toMatchObject({ total: 15, sent: 15 });
      expect(webhook.posted).toHaveLength(16);
      expect(new Set(postsTo('p-01').map(({ key }) => key)).size).toBe(1);
      expect(postsTo('p-01')).toHaveLength(2);
    });

    it('the last batch is over is answered, and nobody is forgotten', async () => {
      await hold(`BEFORE UPDATE ON campaign FOR EACH ROW WHEN (NEW.state = 'COMPLETED')`);
      const id = await inTheMiddle(10);
      webhook.letGo();
      await until(() => waiting('advisory'), Boolean);
      await resume(id);
      expect((await progressOf(shop, id)).counts).toMatchObject({ total: 10, sent: 10 });
      expect(webhook.posted).toHaveLength(10);
    });
  });
});
