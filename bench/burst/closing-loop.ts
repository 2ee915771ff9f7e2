import { setTimeout as pause } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/app.module.js';
import type { BenchWorker, Hears } from '../adapters/adapter.js';
import { closeOrders } from './close-orders.js';
import { orderNumberOf } from './orders.js';

/** Of a pool of ten, which is what the engine leaves to transactional handlers. */
const IN_FLIGHT = 8;

const LOOK_EVERY_MS = 100;

interface Order {
  id: string;
  deadline_ms: number;
}

/**
 * The floor of one handler for each order: a loop that is told all orders beforehand, and closes each in a transaction of
 * its own when its time has come. No queue: nothing is claimed, fenced or removed, and a crash would lose what is left.
 */
export async function openClosingLoop(url: string, hears: Hears): Promise<BenchWorker> {
  const dataSource = await new DataSource(databaseOptions(url)).initialize();
  let running: Promise<unknown> | undefined;
  const stopped = new AbortController();

  async function closeAll(): Promise<void> {
    const orders = await ordersOnceThere();
    const closeNext = async (): Promise<void> => {
      for (let next = orders.shift(); next !== undefined; next = orders.shift()) {
        const { id, deadline_ms: dueMs } = next;
        while (Date.now() <= dueMs) await pause(1);
        hears.handled(orderNumberOf(id), dueMs);
        await dataSource.transaction((manager) => closeOrders(manager, [id]));
        hears.settled();
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, closeNext));
  }

  /** They come in one commit, some seconds before their time. */
  async function ordersOnceThere(): Promise<Order[]> {
    while (!stopped.signal.aborted) {
      const orders = await dataSource.query<Order[]>(
        `SELECT id, extract(epoch FROM pay_deadline)::float8 * 1000 AS deadline_ms
         FROM orders ORDER BY pay_deadline`,
      );
      if (orders.length > 0) return orders;
      await pause(LOOK_EVERY_MS);
    }
    return [];
  }

  return {
    start: () => {
      running = closeAll();
      return Promise.resolve();
    },
    stop: async () => {
      stopped.abort();
      await running;
      await dataSource.destroy();
    },
  };
}
