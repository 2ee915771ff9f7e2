import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { pageOf, unknownAfter } from '../http/page.js';
import { headOf } from './order-head.js';
import { Order } from './order.entity.js';
import type { OrderPage, OrdersQuery } from './orders.schemas.js';

@Injectable()
export class OrderListService {
  constructor(private readonly dataSource: DataSource) {}

  /** Newest first. @throws 400 when `after` is not the id of an order */
  async list({ status, ...page }: OrdersQuery): Promise<OrderPage> {
    const { manager } = this.dataSource;
    if (page.after && !(await manager.existsBy(Order, { id: page.after }))) throw unknownAfter();
    const orders = manager
      .createQueryBuilder(Order, 'orders')
      .where(status ? { status } : {})
      .orderBy('orders.no', 'DESC');
    const isAfter = 'orders.no < (SELECT no FROM orders WHERE id = :after)';
    const { rows, next } = await pageOf(orders, isAfter, page);
    return { orders: rows.map(headOf), next };
  }
}
