import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { OrderViewService } from '../../src/shop/orders/order-view.service.js';
import { createTestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { openProxy, type PostgresProxy } from '../chaos/proxy/proxy.js';
import { DatabaseDoor } from './support/database-door.js';
import { RunningShop } from './support/running-shop.js';

describe('paying while the database goes away', () => {
  let shop: RunningShop;
  let door: DatabaseDoor;

  beforeAll(async () => {
    door = await DatabaseDoor.before(await createTestDatabase());
    shop = await RunningShop.open({}, door);
    shop.app.useLogger(false);
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await shop.mustHold();
  });
  afterAll(() => shop.close());

  it('between the commit and the view: 503, and whoever asks again learns that it succeeded', async () => {
    const { id } = await shop.place(await shop.newSku());
    const views = shop.app.get(OrderViewService);
    const show = views.show.bind(views);
    jest.spyOn(views, 'show').mockImplementationOnce(async (wanted) => {
      await door.shut();
      return show(wanted);
    });

    const cut = await shop.sendAsItIs('POST', `/orders/${id}/pay`);
    expect(cut.status).toBe(503);
    expect(cut.headers['retry-after']).toMatch(/^\d+$/);
    expect(JSON.parse(cut.text).detail).toContain('ask again');

    await door.open();
    const again = await until(
      () => shop.post(`/orders/${id}/pay`),
      ({ status }) => status !== 503,
    );
    expect(again).toMatchObject({
      status: 200,
      body: { status: 'PAID', payments: [{ status: 'CAPTURED', provider: 'sample' }] },
    });
    expect(again.body.payments).toHaveLength(1);
  });
});

describe('paying while the answer to COMMIT gets lost', () => {
  let shop: RunningShop;
  let proxy: PostgresProxy;

  beforeAll(async () => {
    const database = await createTestDatabase();
    proxy = await openProxy(database.url);
    shop = await RunningShop.open({}, { url: proxy.url, drop: database.drop });
    shop.app.useLogger(false);
  });
  afterAll(async () => {
    await shop.mustHold();
    await shop.stop();
    await proxy.close();
    await shop.database.drop();
  });

  it.each([
    ['after it was done', (on: PostgresProxy) => on.cutAfterCommit()],
    ['before it was done', (on: PostgresProxy) => on.cutBeforeCommit()],
  ])('%s is answered 503, and then with the truth', async (_, cut) => {
    const { id } = await shop.place(await shop.newSku());
    cut(proxy);
    const first = await shop.post(`/orders/${id}/pay`);
    expect(first.status).toBe(503);
    expect(first.body.detail).toContain('whether this took effect is not known: ask again');
    const again = await shop.act(id, 'pay');
    expect(again.status).toBe('PAID');
    expect(again.payments).toHaveLength(1);
  });
});

describe('a database that says nothing any more', () => {
  it('is away: 503', async () => {
    const door = await DatabaseDoor.before(await createTestDatabase());
    const shop = await RunningShop.open({}, door);
    try {
      shop.app.useLogger(false);
      const { id } = await shop.place(await shop.newSku());
      door.silence();
      const answers = await Promise.all([
        shop.get(`/orders/${id}`),
        shop.post(`/orders/${id}/pay`),
        ...Array.from({ length: 30 }, () => shop.get('/skus')),
      ]);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    } finally {
      await door.shut();
      await shop.close();
    }
  }, 60_000);
});
