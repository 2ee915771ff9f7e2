/**
 * One process of a supervised shop: a whole application, with worker and HTTP. It imports
 * everything while the supervisor still prepares the database, and opens on its order. Ctrl+C
 * reaches this process too; the supervisor decides what follows.
 */
import { NewsService } from '../shop/feed/news.service.js';
import { explain } from '../terminal/explain.js';
import { ShortLog } from '../terminal/short-log.js';
import { openShop, type OpenShop } from './open-shop.js';
import { listenTrouble } from './port.js';
import type { Opening, Order, Report } from './protocol.js';
import { SupervisedProcesses } from './supervised-processes.js';

const tell = (message: Report): void => {
  // The supervisor may be gone; then this process ends as well.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
};

let processes: SupervisedProcesses | undefined;
let opening: Promise<OpenShop> | undefined;

async function open(order: Opening): Promise<OpenShop> {
  processes = new SupervisedProcesses(order.name, new Date(order.shopStartedAt), (name) =>
    tell({ type: 'kill', name }),
  );
  const shop = await openShop(order.config, processes, new ShortLog(order)).catch(
    (error: unknown) => {
      throw listenTrouble(error, order.config) ?? error;
    },
  );
  tell({ type: 'open', port: shop.port });
  return shop;
}

async function report(since: Date): Promise<void> {
  const shop = await opening;
  shop?.app.get(NewsService).follow(since, (news) => tell({ type: 'happened', happenings: news }));
}

async function stop(): Promise<void> {
  const shop = await opening?.catch(() => undefined);
  await shop?.app.close();
  process.exit(0);
}

async function fail(error: unknown): Promise<never> {
  tell({ type: 'failed', message: explain(error) });
  process.exit(1);
}

async function obey(order: Order): Promise<void> {
  if (order.type === 'open') await (opening = open(order));
  else if (order.type === 'processes') processes?.take(order.list, order.events);
  else if (order.type === 'report') await report(new Date(order.since));
  else await stop();
}

process.on('message', (order: Order) => void obey(order).catch(fail));
process.on('SIGINT', () => {});
process.on('SIGTERM', () => void stop().catch(fail));
tell({ type: 'ready' });
