import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { once } from 'node:events';
import {
  type ClientRequest,
  createServer,
  get,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { ORDERS_MAX, type FeedChange, type OrderCard } from '../../src/shop/feed/feed.js';
import { FEED } from '../../src/shop/feed/feed.sql.js';
import { FeedReader } from '../../src/shop/feed/feed.reader.js';
import { FeedService } from '../../src/shop/feed/feed.service.js';
import { Watcher } from '../../src/shop/feed/watcher.js';
import { ACTING, FORGED, HOSTILE } from '../hostile/corpus/acting-texts.js';
import { until } from '../support/until.js';
import { atOnce } from './support/at-once.js';
import { campaign, people } from './support/campaigns.js';
import { FeedClient } from './support/feed-client.js';
import { RunningShop } from './support/running-shop.js';

/** Texts in it that act. */
function acting(told: unknown): string[] {
  if (typeof told === 'string') return ACTING.test(told) ? [told] : [];
  return typeof told === 'object' && told !== null ? Object.values(told).flatMap(acting) : [];
}

const happened =
  (event: string) =>
  ({ timeline }: OrderCard): boolean =>
    timeline.some(({ what }) => what === event);

const hears = (client: FeedClient, wanted: string, from = 0) =>
  until(
    () => client.events.slice(from),
    (events) => events.some(({ event }) => event === wanted),
  );

describe('the feed', () => {
  const shop = RunningShop.forAll();
  const watching: FeedClient[] = [];
  afterEach(() => {
    for (const client of watching.splice(0)) client.close();
  });

  async function watch(from?: string): Promise<FeedClient> {
    const client = await FeedClient.open(shop.url, from);
    watching.push(client);
    return client;
  }

  const statusFrom = async (from: string): Promise<number> =>
    (await watch(from)).response.statusCode!;

  it('begins with a snapshot, and goes on with what is different', async () => {
    const before = await shop.orderAfter('pay');
    const client = await watch();
    // Once its buyer was told and the invariants were checked, nothing changes by itself.
    const { orders, mode, can } = await client.when(
      (feed) => feed.invariants !== null && happened('message.sent')(feed.orders[0]!),
    );
    expect(client.response.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    expect(client.events[0]).toMatchObject({ event: 'snapshot' });
    expect(orders).toMatchObject([{ id: before.id, status: 'PAID' }]);
    expect(mode).toMatchObject({ name: 'demo' });
    expect(can).toEqual({ pay: true, race: true, kill: true });

    const toldBefore = client.events.length;
    const { id } = await shop.place(await shop.newSku(), 3);
    const card = await client.orderWhen(id, () => true);
    expect(card).toMatchObject({ status: 'UNPAID', delays: [{ name: 'order.close' }] });
    const changes = client.events.slice(toldBefore);
    expect(changes).toContainEqual(expect.objectContaining({ event: 'change' }));
    // The other card is as it was, and does not come again.
    const told = changes.flatMap(({ data }) => (data as FeedChange).orders ?? []);
    expect(told.map((order) => order.id)).not.toContain(before.id);
    expect(client.feed!.happenings[0]).toMatchObject({ what: 'order.placed', stock: -3 });
  });

  it('tells no text that acts on a page, whoever wrote it, and neither does a refusal', async () => {
    const text = HOSTILE.join(' ');
    const { id } = await shop.orderAfter('pay');
    const sku = await shop.newSku();
    await shop.sql('UPDATE sku SET name = $1 WHERE sku = $2', [text, sku]);
    await shop.sql(`UPDATE merchant SET name = $1 WHERE id = 'kiln'`, [text]);
    await shop.act(id, 'dispute', { reason: 'a test' });
    await shop.sql('UPDATE dispute SET reason = $1 WHERE order_id = $2', [text, id]);
    await campaign(shop, ['one'], { inMs: 3_600_000 });
    await shop.sql('UPDATE campaign SET message = $1', [text]);
    const client = await watch();
    const feed = await client.when(({ orders }) => happened('dispute.opened')(orders[0]!));
    const card = (await shop.get(`/feed/orders/${id}`)).body;
    const refusal = (await shop.get(`/orders/${encodeURIComponent(text)}`)).body;
    for (const told of [feed, card, refusal]) {
      expect(JSON.stringify(told)).toContain(FORGED);
      expect(acting(told)).toEqual([]);
    }
    expect(feed.skus.find((its) => its.sku === sku)?.name).toContain(FORGED);
    await shop.sql(`UPDATE merchant SET name = 'Kiln & Clay' WHERE id = 'kiln'`);
  });

  it('tells of messages in the order in which they were sent, whichever was written first', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    await until(
      () =>
        shop.sql<{ n: number }[]>(
          `SELECT count(*)::int AS n FROM outbox WHERE order_id = $1 AND sent_at IS NOT NULL`,
          [id],
        ),
      ([row]) => row!.n >= 2,
    );
    const [last] = await shop.sql<{ id: string }[]>(
      `WITH late AS (UPDATE outbox SET sent_at = clock_timestamp() + interval '1 minute'
                     WHERE id = (SELECT min(id) FROM outbox WHERE order_id = $1) RETURNING id)
       SELECT id::text FROM late`,
      [id],
    );
    const client = await watch();
    const { messages } = await client.when((feed) => feed.messages[0]?.id === last!.id);
    expect(messages.map(({ at }) => at)).toEqual(
      messages
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
  });

  it('tells who closed an order, and how late', async () => {
    const client = await watch();
    const sku = await shop.newSku();
    await shop.send('PATCH', '/merchants/tea-house', '{"payWithin":"500ms"}');
    const { id } = await shop.place(sku, 2);
    await shop.send('PATCH', '/merchants/tea-house', '{"payWithin":null}');
    const card = await client.orderWhen(id, ({ status }) => status === 'CLOSED');
    const by = client.feed!.servedBy;
    expect(card.delays).toMatchObject([{ name: 'order.close', state: 'completed', by }]);
    expect(card.timeline.slice(0, 2)).toMatchObject([
      { what: 'order.placed', by: null },
      { what: 'order.closed', by, delay: 'order.close', stock: 2, detail: 'not paid in time' },
    ]);
    expect(card.timeline[1]!.lateMs).toBeGreaterThanOrEqual(0);
    // Those of the close and of the message that says so.
    const { lateness, processes, skus, invariants } = await client.when(
      (feed) => feed.lateness.count >= 2 && feed.invariants !== null,
    );
    expect(lateness.buckets.reduce((sum, { count }) => sum + count, 0)).toBe(lateness.count);
    expect(lateness.p99Ms).toBeGreaterThanOrEqual(lateness.p50Ms!);
    expect(processes).toMatchObject([{ name: by, state: 'up' }]);
    expect(processes[0]!.fired).toBeGreaterThanOrEqual(lateness.count);
    expect(skus.find((found) => found.sku === sku)).toMatchObject({ stock: 10 });
    expect(invariants!.ok).toBe(true);
  });

  it('tells of a payment that came too late and of its refund, and how far a campaign is', async () => {
    const client = await watch();
    const { id } = await shop.orderAfter('cancel');
    await shop.callback(id, 1_000);
    const card = await client.orderWhen(id, happened('payment.refunded'));
    expect(card.payments).toMatchObject([{ status: 'REFUNDED', amount: 1_000 }]);
    const told = card.timeline.map(({ what }) => what);
    expect(told).toEqual(expect.arrayContaining(['order.closed', 'payment.unkept']));

    await campaign(shop, people(3));
    const { campaigns } = await client.when((feed) => feed.campaigns?.[0]?.state === 'COMPLETED');
    const counts = { total: 3, pending: 0, sending: 0, sent: 3, failed: 0 };
    const message = 'New teas have arrived';
    expect(campaigns![0]).toMatchObject({ message, counts, nextBatchAt: null });
  });

  it('tells of an order that has left it for newer ones when it is asked', async () => {
    const client = await watch();
    const { id } = await shop.orderAfter('pay');
    const card = await client.orderWhen(id, happened('message.sent'));
    const sku = await shop.newSku({ stock: ORDERS_MAX });
    await atOnce(ORDERS_MAX, () => shop.place(sku));
    // What it begins with may have been read a little earlier.
    await (await watch()).when(({ orders }) => orders.every((other) => other.id !== id));
    expect((await shop.get(`/feed/orders/${id}`)).body).toEqual(card);
  });

  it('tells the latest of what an order has any number of', async () => {
    const { id } = await shop.orderAfter('pay', 'ship');
    for (let again = 0; again <= 20; again++) {
      await shop.act(id, 'dispute', { reason: `dispute ${again}` });
      await shop.act(id, 'release');
    }
    const { delays, timeline } = (await shop.get(`/feed/orders/${id}`)).body as OrderCard;
    expect(delays.filter(({ name }) => name === 'order.confirm')).toHaveLength(1 + 20);
    const opened = timeline.filter(({ what }) => what === 'dispute.opened');
    expect(opened).toHaveLength(20);
    expect(opened.at(-1)).toMatchObject({ detail: 'dispute 20' });
  });

  it('looks into indexes, whatever the statistics say', async () => {
    const runner = shop.app.get(DataSource).createQueryRunner();
    await runner.startTransaction();
    await runner.manager.query(`
      INSERT INTO delay_queue.history
        (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key, node)
      SELECT -n, clock_timestamp() - n * interval '1 s', clock_timestamp() - n * interval '1 s',
             clock_timestamp() - n * interval '1 s', 1, 1, 1, 'completed', 'order.sms',
             gen_random_uuid(), 'shop-1'
      FROM generate_series(1, 20000) AS n`);
    await runner.manager.query(`
      INSERT INTO delay_queue.delay (due_at, wake_at, created_at, name, key, payload)
      SELECT clock_timestamp() + interval '1 h', clock_timestamp() + interval '1 h',
             clock_timestamp(), 'order.close', gen_random_uuid(), '{}'
      FROM generate_series(1, 2000)`);
    const plan = async (): Promise<string> => {
      const lines = await runner.manager.query<object[]>(`EXPLAIN ${FEED}`, [
        new Date(),
        new Date(0),
        new Date(),
      ]);
      return lines.flatMap((line) => Object.values(line)).join('\n');
    };
    const walks = /Seq Scan on (history|delay) /;
    expect(await plan()).not.toMatch(walks);
    await runner.manager.query('ANALYZE delay_queue.history, delay_queue.delay');
    expect(await plan()).not.toMatch(walks);
    await runner.rollbackTransaction();
    await runner.release();
  });

  it('looks nothing up while nobody watches', async () => {
    const service = shop.app.get(FeedService);
    expect(service.isLooking).toBe(false);
    const looks = jest.spyOn(shop.app.get(FeedReader), 'now');
    const client = await watch();
    await client.when(() => true);
    client.close();
    await until(
      () => service.isLooking,
      (isLooking) => !isLooking,
    );
    const { length } = looks.mock.calls;
    await shop.place(await shop.newSku());
    expect(looks.mock.calls).toHaveLength(length);
  });

  it('says so when the database is away, and sends a snapshot when it is back', async () => {
    const client = await watch();
    await client.when(() => true);
    const { pathname, href } = new URL(shop.database.url);
    const name = pathname.slice(1);
    const admin = new Client({ connectionString: href.replace(pathname, '/postgres') });
    await admin.connect();
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, [
      name,
    ]);
    await hears(client, 'trouble');
    const back = hears(client, 'snapshot', client.events.length);
    // It is looked again and again, and told once.
    const looks = jest.spyOn(shop.app.get(FeedReader), 'now');
    await until(
      () => looks.mock.calls.length,
      (count) => count >= 2,
    );
    looks.mockRestore();
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await admin.end();
    await back;
    expect(client.events.filter(({ event }) => event === 'trouble')).toHaveLength(1);
  });

  it('ends when the shop stops, and lets nobody watch while it does: a page that has come again at once goes elsewhere', async () => {
    const client = await watch();
    await client.when(() => true);
    const service = shop.app.get(FeedService);
    await service.onModuleDestroy();
    const late = await watch();
    for (const each of [client, late]) {
      await until(
        () => each.ended,
        (ended) => ended,
      );
    }
    expect(client.events.at(-1)).toMatchObject({ event: 'snapshot' });
    expect([late.response.statusCode, late.events]).toEqual([200, []]);
    expect(service.isLooking).toBe(false);
    await shop.stop();
    await shop.start();
  });

  it('lets fifty of an address watch, a hundred in all, and tells the next one to come later', async () => {
    await atOnce(50, () => statusFrom('127.0.0.1'));
    expect(await statusFrom('127.0.0.1')).toBe(503);
    // Other systems have one address of loopback.
    if (process.platform !== 'linux') return;
    expect(new Set(await atOnce(50, () => statusFrom('127.0.0.2')))).toEqual(new Set([200]));
    expect(await statusFrom('127.0.0.3')).toBe(503);
  });

  it('answers a HEAD, which has an end', async () => {
    const answer = await fetch(`${shop.url}/feed`, { method: 'HEAD' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
  });
});

describe('a watcher who does not read', () => {
  const server = createServer();
  let request: ClientRequest;
  let response: ServerResponse;
  let watcher: Watcher;

  const tell = (): void => watcher.change({ serverNow: 'x'.repeat(100_000), servedBy: '' });

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  beforeEach(async () => {
    const { port } = server.address() as AddressInfo;
    const asked = once(server, 'request');
    request = get({ port, host: '127.0.0.1' }, (answer) => answer.pause());
    request.on('error', () => {});
    [, response] = (await asked) as [IncomingMessage, ServerResponse];
    watcher = new Watcher(response, 10_000);
  });
  afterEach(() => void request.destroy());
  afterAll(() => new Promise((done) => server.close(done)));

  it('is cut off', () => {
    // What the kernel takes of it is a few megabytes.
    for (let sent = 0; !response.destroyed && sent < 1_000; sent++) tell();
    expect(response.destroyed).toBe(true);
  });

  it('is told nothing more when the feed has ended', async () => {
    const errors: unknown[] = [];
    response.on('error', (error) => errors.push(error));
    while (response.writableLength === 0) tell();
    watcher.end();
    tell();
    await new Promise(setImmediate);
    expect(errors).toEqual([]);
  });
});
