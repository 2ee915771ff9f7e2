import { expect, it } from '@jest/globals';
import { PrismaPg } from '@prisma/adapter-pg';
import { OneNode } from '../support/one-node.js';
import { PrismaClient } from './generated/client.js';
import { OrdersService } from './orders.service.js';

/** The service of docs/orms.md. */

const node = new OneNode();

it('places and pays orders, each with its close in one transaction of Prisma', async () => {
  const { url } = node.dataSource.options as { url: string };
  await node.sql(`CREATE TABLE purchases (id int PRIMARY KEY, status text DEFAULT 'UNPAID')`);
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  const orders = new OrdersService(prisma, node.delays);
  const waits = async (key: string) => (await node.delays.find('order.close', key)) !== null;
  try {
    await orders.place(1);
    expect(await waits('1')).toBe(true);
    // It exists already: its close stays as it is.
    const { dueAt } = (await node.delays.find('order.close', '1'))!;
    await expect(orders.place(1)).rejects.toThrow('Unique constraint');
    expect(await node.delays.find('order.close', '1')).toMatchObject({ dueAt });
    expect([await orders.pay(1), await orders.pay(1)]).toEqual([true, false]);
    expect(await waits('1')).toBe(false);
  } finally {
    await prisma.$disconnect();
  }
});
