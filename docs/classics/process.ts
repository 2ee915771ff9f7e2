/**
 * One process of the shop: `CLASSIC` names its design, its own name and its database. Places, pays and
 * closes orders as its parent says.
 */
import 'reflect-metadata';
import { DataSource, type EntityManager } from 'typeorm';
import type { Shop } from './design.js';
import { DESIGNS, type DesignName } from './designs.js';
import type { Message, Order, Request } from './process.protocol.js';

interface Setup {
  design: DesignName;
  name: string;
  url: string;
  /** Whether the close is a compare-and-set. */
  guarded: boolean;
}

const { design: designName, name, url, guarded }: Setup = JSON.parse(process.env['CLASSIC'] ?? '');
const tell = (message: Message): void => void process.send?.(message);

const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
const heldUp = new Map<string, () => void>();
const inHand = new Set<string>();

async function statusOf(orderId: string, manager: EntityManager): Promise<string | undefined> {
  const [order] = await manager.query<{ status: string }[]>(
    'SELECT status FROM orders WHERE id = $1',
    [orderId],
  );
  return order?.status;
}

/** Tells the parent and waits for it: here the real one calls the payment provider. */
async function holdUp(orderId: string): Promise<void> {
  tell({ closing: orderId });
  await new Promise<void>((resolve) => heldUp.set(orderId, resolve));
}

/** Looks, works, writes, as most shops do it. */
async function closeWithin(orderId: string, manager: EntityManager): Promise<void> {
  if ((await statusOf(orderId, manager)) !== 'UNPAID') return;
  await holdUp(orderId);
  await manager.query('INSERT INTO stock_return (order_id, process) VALUES ($1, $2)', [
    orderId,
    name,
  ]);
  const [, closed] = await manager.query<[unknown, number]>(
    `UPDATE orders SET status = 'CLOSED' WHERE id = $1 ${guarded ? `AND status = 'UNPAID'` : ''}`,
    [orderId],
  );
  if (closed !== 1) throw new Error(`order ${orderId} was closed by another process`);
}

async function close(orderId: string, manager?: EntityManager): Promise<void> {
  if (manager) return closeWithin(orderId, manager);
  inHand.add(orderId);
  try {
    await dataSource.transaction((own) => closeWithin(orderId, own));
  } catch {
    // Rolled back: another was faster. The design is done with it.
  } finally {
    inHand.delete(orderId);
  }
}

const shop: Shop = { dataSource, name, close, closing: (orderId) => inHand.has(orderId) };
const design = await DESIGNS[designName].open(shop);

const place = (orderId: string, afterMs: number): Promise<void> =>
  dataSource.transaction(async (manager) => {
    await manager.query(
      `INSERT INTO orders (id, due_at)
       VALUES ($1, clock_timestamp() + $2::float8 * interval '1 millisecond')`,
      [orderId, afterMs],
    );
    await design.schedule(orderId, afterMs, manager);
  });

/** @returns whether the money was taken */
async function pay(orderId: string, spoilt = false): Promise<boolean> {
  try {
    await dataSource.transaction(async (manager) => {
      if ((await statusOf(orderId, manager)) !== 'UNPAID') throw new Error('not open');
      if (!(await design.cancel(orderId, manager))) throw new Error('too late');
      await manager.query(`UPDATE orders SET status = 'PAID', paid = true WHERE id = $1`, [
        orderId,
      ]);
      if (spoilt) throw new Error('the wrong amount');
    });
    return true;
  } catch {
    return false;
  }
}

async function answerTo(request: Request): Promise<number> {
  if (request.ask === 'left') return (await design.left()) + inHand.size;
  if (request.ask === 'pay') return (await pay(request.orderId, request.spoilt)) ? 1 : 0;
  await place(request.orderId, request.afterMs);
  return 0;
}

async function obey(order: Order): Promise<void> {
  if ('goOn' in order) heldUp.get(order.goOn)?.();
  else tell({ call: order.call, answer: await answerTo(order) });
}

process.on('message', (order: Order) => void obey(order));
tell({ ready: true });
