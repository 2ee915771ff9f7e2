import { Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import { DataSource, LessThan } from 'typeorm';
import { Order } from '../../../shop/orders/order.entity.js';
import { NaiveOrders } from './naive-orders.js';

const MINUTE_MS = 60_000;

/** Once a minute, in each process: closes what is overdue and unpaid, one order after the other. */
@Injectable()
export class OverdueScan implements BeforeApplicationShutdown {
  readonly #logger = new Logger(OverdueScan.name);
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly orders: NaiveOrders,
  ) {}

  /** Like a cron entry: at the same moment of each minute. */
  everyMinuteAt(msOfMinute: number): void {
    const waitMs = (MINUTE_MS + msOfMinute - (Date.now() % MINUTE_MS)) % MINUTE_MS;
    const scan = (): void => void this.scan().catch((error: unknown) => this.#logger.error(error));
    this.#timer = setTimeout(() => {
      this.#timer = setInterval(scan, MINUTE_MS);
      scan();
    }, waitMs);
  }

  async scan(): Promise<void> {
    const overdue = await this.dataSource.manager.find(Order, {
      where: { status: 'UNPAID', payDeadline: LessThan(new Date()) },
      relations: { items: true },
      order: { payDeadline: 'ASC' },
    });
    for (const order of overdue) await this.orders.write(order);
  }

  beforeApplicationShutdown(): void {
    clearTimeout(this.#timer);
  }
}
