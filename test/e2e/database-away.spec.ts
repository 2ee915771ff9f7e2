import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { OrderViewService } from '../../src/shop/orders/order-view.service.js';
import { openProxy, type PostgresProxy } from '../chaos/proxy/proxy.js';
import { createTestDatabase } from '../support/database.js';
import { until } from '../support/until.js';
import { statusesOf } from './support/at-once.js';
import { DatabaseDoor } from './support/database-door.js';
import { RunningShop } from './support/running-shop.js';

describe('while the database goes away', () => {
  let proxy: PostgresProxy;
  let door: DatabaseDoor;
  let shop: RunningShop;

  beforeAll(async () => {
    const database = await createTestDatabase();
    proxy = await openProxy(database.url);
    door = await DatabaseDoor.before({ url: proxy.url, drop: database.drop });
    shop = await RunningShop.open({}, door);
    shop.app.useLogger(false);
  });
  afterEach(() => void jest.restoreAllMocks());
  afterAll(async () => {
    proxy.heal();
    await shop.close();
    await proxy.close();
  });

  it('between the commit of a payment and the view: 503, and whoever asks again learns that it succeeded', async () => {
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
    expect(again).toMatchObject({ status: 200, body: { status: 'PAID' } });
    expect(again.body.payments).toMatchObject([{ status: 'CAPTURED', provider: 'sample' }]);
  });

  it.each([
    ['after it was done', (on: PostgresProxy) => on.cutAfterCommit()],
    ['before it was done', (on: PostgresProxy) => on.cutBeforeCommit()],
  ])('a COMMIT whose answer gets lost %s is 503, and then the truth', async (_, cut) => {
    const { id } = await shop.place(await shop.newSku());
    cut(proxy);
    const first = await shop.post(`/orders/${id}/pay`);
    expect(first.status).toBe(503);
    expect(first.body.detail).toContain('it is unknown whether this took effect: ask again');
    const again = await shop.act(id, 'pay');
    expect(again.status).toBe('PAID');
    expect(again.payments).toHaveLength(1);
  });

  it('one that says nothing any more is away: 503', async () => {
    await shop.mustHold();
    const { id } = await shop.place(await shop.newSku());
    proxy.halfOpen();
    const paying = shop.post(`/orders/${id}/pay`);
    const paths = [`/orders/${id}`, ...Array<string>(30).fill('/skus')];
    const answers = await Promise.all([paying, ...paths.map((path) => shop.get(path))]);
    expect(statusesOf(answers)).toEqual([503]);
  });
});
