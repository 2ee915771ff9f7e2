import { setTimeout as pause } from 'node:timers/promises';
import { numberAt, withClient } from '../server/bench-server.js';
import type { Adapter, BenchWorker, Hears } from './adapter.js';
import { orderNumberOf } from '../shop/orders.js';
import { openShop, ORDERS, POOL_MAX } from './orders.js';
import { OURS } from './ours.js';
import { closing, shopAdapter } from './shop.js';

/** What the engine leaves to transactional handlers of the shop's pool of ten. */
const SHOP_AT_A_TIME = 8;

/**
 * The floor: a loop that is told all orders beforehand and closes each in a transaction of its own. Nothing is claimed,
 * fenced or removed, and a crash would lose what is left.
 */
export const ORDER_LOOP: Adapter = {
  ...OURS,
  name: 'no queue',
  settings: `no queue: dataSource.transaction in a loop, ${POOL_MAX} at a time, of orders that it knows beforehand`,
  onlyByName: 'it is no queue, it is the transaction that each order needs in any case',
  handlers: ['close'],
  takesConcurrency: false,
  prepare: async () => {},
  fill: async () => {},
  left: (url) => numberAt(url, ORDERS.open),
  async openWorker(url, _running, hears) {
    const shop = await openShop(url);
    const orders = await rowsOf(
      url,
      'SELECT n, extract(epoch FROM placed_at)::float8 * 1000 AS due_ms FROM bench_order',
    );
    return loopOver(
      orders,
      POOL_MAX,
      hears,
      ({ n }) => shop.close(n),
      () => shop.end(),
    );
  },
};

/** The same of the shop's own close. */
export const SHOP_LOOP: Adapter = shopAdapter(false, {
  name: 'the shop, no queue',
  settings: `the shop, no queue: its own close in a loop, ${SHOP_AT_A_TIME} at a time, of orders that it knows beforehand`,
  onlyByName: 'it is no queue, it is what closing an order of the shop takes in any case',
  async openWorker(url, _running, hears) {
    const { closeOrders, openShopDatabase } = await closing();
    const dataSource = await openShopDatabase(url);
    const orders = await rowsOf(
      url,
      'SELECT id, extract(epoch FROM pay_deadline)::float8 * 1000 AS due_ms FROM orders',
    );
    return loopOver(
      orders.map((order) => ({ ...order, n: orderNumberOf(order.id) })),
      SHOP_AT_A_TIME,
      hears,
      ({ id }) => dataSource.transaction((manager) => closeOrders(manager, [id])),
      () => dataSource.destroy(),
    );
  },
});

interface Order {
  n: number;
  id: string;
  due_ms: number;
}

const rowsOf = (url: string, sql: string): Promise<Order[]> =>
  withClient(url, async (client) => (await client.query<Order>(sql)).rows);

function loopOver(
  orders: Order[],
  atATime: number,
  hears: Hears,
  close: (order: Order) => Promise<void>,
  end: () => Promise<void>,
): BenchWorker {
  const closeNext = async (): Promise<void> => {
    for (let next = orders.pop(); next !== undefined; next = orders.pop()) {
      while (Date.now() <= next.due_ms) await pause(1);
      hears.handled(next.n, next.due_ms);
      await close(next);
      hears.settled();
    }
  };
  let running: Promise<unknown> | undefined;
  return {
    async start() {
      running = Promise.all(Array.from({ length: atATime }, closeNext));
    },
    async stop() {
      await running;
      await end();
    },
  };
}
