import { withClient } from '../server/bench-server.js';
import { buildShop, placeOrders } from '../shop/orders.js';
import type { Adapter, Batch } from './adapter.js';

/** What is in stock. Few: orders would wait for each other's rows. */
const SKUS = 200;

/** The sample shop's own close of an unpaid order: the order moves, its stock is back, its news is written. */
export const SHOP: Adapter = shopAdapter(true, {
  name: 'the shop',
  settings: `the shop: two lines of ${SKUS} SKUs in an order, its own pool of ten, all options of the queue as they come`,
  onlyByName: 'its handler closes orders of the sample shop',
  async openWorker(url, { batch }, hears) {
    const { openShopWorker } = await closing();
    return openShopWorker(url, batch, hears);
  },
});

/** @param hasQueue whether each order has a delay */
export function shopAdapter(
  hasQueue: boolean,
  adapter: Pick<Adapter, 'name' | 'settings' | 'onlyByName' | 'openWorker'>,
): Adapter {
  return {
    ...adapter,
    handlers: ['close'],
    prepare: (url) => buildShop(url, SKUS),
    fill: (url, { count: orders, dueFromMs: leadMs }: Batch) =>
      withClient(url, async (client) => {
        await placeOrders(client, { orders, skus: SKUS, leadMs, delays: hasQueue });
      }),
    async left(url) {
      const { brokenRules } = await closing();
      const broken = await withClient(url, (client) => brokenRules(client, hasQueue));
      for (const rule of broken) process.stderr.write(`${adapter.name}: ${rule}\n`);
      return broken.length;
    },
    openProducer: () => Promise.reject(new Error(`${adapter.name} takes orders over HTTP alone`)),
  };
}

/** With the shop's entities, which the process of no other system loads. */
export const closing = () => import('../shop/closing.js');
