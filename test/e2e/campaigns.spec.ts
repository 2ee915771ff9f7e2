import { describe, expect, it } from '@jest/globals';
import { DelayService } from 'nestjs-delay-queue';
import { until } from '../support/until.js';
import { atOnce, statusesOf } from './support/at-once.js';
import {
  campaign,
  campaignWhen,
  isCompleted,
  people,
  progressOf,
  reached,
} from './support/campaigns.js';
import { RunningShop } from './support/running-shop.js';

const HOUR_MS = 3_600_000;
const RATE = 4;

describe('campaigns', () => {
  const shop = RunningShop.forAll({ messagesPerSecond: RATE });

  const act = (id: string, action: 'stop' | 'resume') => shop.post(`/campaigns/${id}/${action}`);
  const delayOf = (id: string) => shop.app.get(DelayService).find('campaign.send', id);
  const hasNoDelay = (id: string) =>
    until(
      () => delayOf(id),
      (delay) => delay === null,
    );

  it('reach everybody once, in the order given, no more in a second than the provider takes', async () => {
    const everybody = people(6);
    const created = await campaign(shop, [...everybody, 'p-01', 'p-06'], { inMs: HOUR_MS });
    expect(created).toMatchObject({
      state: 'SCHEDULED',
      counts: { total: 6, pending: 6, sending: 0, sent: 0, failed: 0 },
      messagesPerSecond: RATE,
    });
    await shop.fallsDue('campaign.send', created.id);
    const completed = await campaignWhen(shop, created.id, isCompleted);
    expect(completed).toMatchObject({
      counts: { total: 6, pending: 0, sending: 0, sent: 6, failed: 0 },
      failures: [],
      nextBatchAt: null,
      error: null,
    });
    expect(await reached(shop, created.id)).toEqual(everybody);
    const batches = await shop.sql(
      `SELECT count(*)::int AS size FROM campaign_recipient GROUP BY tried_at ORDER BY tried_at`,
    );
    expect(batches).toEqual([{ size: 4 }, { size: 2 }]);
    const order = await shop.sql(`SELECT recipient FROM campaign_recipient ORDER BY tried_at, id`);
    expect(order).toEqual(everybody.map((recipient) => ({ recipient })));
    await hasNoDelay(created.id);
  });

  it('wait for their time, also when they are stopped and resumed before it', async () => {
    const { id, at, nextBatchAt } = await campaign(shop, people(1), { inMs: HOUR_MS });
    expect(nextBatchAt).toBe(at);
    const stopped = { status: 200, body: { state: 'STOPPED', nextBatchAt: null } };
    expect(await act(id, 'stop')).toMatchObject(stopped);
    expect(await act(id, 'stop')).toMatchObject(stopped);
    expect(await delayOf(id)).toBeNull();
    const waiting = { status: 200, body: { state: 'SCHEDULED', nextBatchAt: at } };
    expect(await act(id, 'resume')).toMatchObject(waiting);
    expect(await act(id, 'resume')).toMatchObject(waiting);
    expect(await reached(shop, id)).toEqual([]);
  });

  it('stop in the middle and go on with those who are left', async () => {
    const { id } = await campaign(shop, people(40));
    await campaignWhen(shop, id, ({ counts }) => counts.sent >= RATE);
    expect(await act(id, 'stop')).toMatchObject({ status: 200, body: { state: 'STOPPED' } });
    // A batch may have been on its way.
    const rest = await campaignWhen(shop, id, ({ counts }) => counts.sending === 0);
    expect(rest.counts.pending).toBeGreaterThan(0);
    await hasNoDelay(id);
    expect((await reached(shop, id)).length).toBe(rest.counts.sent);

    expect(statusesOf(await atOnce(6, () => act(id, 'resume')))).toEqual([200]);
    // Whatever is clicked while it runs.
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([act(id, 'stop'), act(id, 'resume'), act(id, 'stop')]);
      await act(id, 'resume');
      await shop.mustHold();
    }
    await campaignWhen(shop, id, isCompleted);
    expect(await reached(shop, id)).toEqual(people(40));
    expect(await act(id, 'resume')).toMatchObject({ status: 200, body: { state: 'COMPLETED' } });
    expect(await act(id, 'stop')).toMatchObject({ status: 409 });
  });

  it('a repeated request under an Idempotency-Key is one campaign', async () => {
    const at = new Date(Date.now() + HOUR_MS).toISOString();
    const request = { at, message: 'once', recipients: people(3) };
    const key = { 'Idempotency-Key': 'autumn-teas' };
    const answers = await atOnce(6, () => shop.post('/campaigns', request, key));
    expect(statusesOf(answers)).toEqual([201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    const other = await shop.post('/campaigns', { ...request, message: 'another' }, key);
    expect(other.status).toBe(422);
  });

  it('are listed newest first, page by page', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 21; n += 1)
      ids.unshift((await campaign(shop, people(1), { inMs: HOUR_MS })).id);
    const { body: first } = await shop.get('/campaigns');
    expect(first.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 20));
    const { body: second } = await shop.get(`/campaigns?after=${ids[19]}`);
    expect(second[0]).toEqual({
      ...(await progressOf(shop, ids[20]!)),
      serverNow: expect.any(String),
    });
  });

  it('take 10,000 recipients of the longest kind', async () => {
    const crowd = Array.from({ length: 10_000 }, (_, n) => `${n}-`.padEnd(64, 'x'));
    const { counts } = await campaign(shop, crowd, { inMs: HOUR_MS });
    expect(counts.total).toBe(10_000);
  });

  it('are of a merchant: its group, and none that is unknown', async () => {
    const merchant = 'kiln';
    const { id, ...created } = await campaign(shop, people(1), { inMs: HOUR_MS, merchant });
    expect(created).toMatchObject({ merchant });
    expect((await delayOf(id))!.group).toBe(merchant);
    await act(id, 'stop');
    await act(id, 'resume');
    expect((await delayOf(id))!.group).toBe(merchant);
    const unknown = campaign(shop, people(1), { merchant: 'nobody' });
    await expect(unknown).rejects.toThrow(/400 .*merchant: is unknown; see GET \/merchants/);
  });
});
