import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { delayCallOf } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { Order } from './order.entity';

/** Refuses delays of orders that nobody has placed. */
@Injectable()
export class KnownOrder implements CanActivate {
  constructor(@Inject(DataSource) private readonly dataSource: DataSource) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const call = delayCallOf(context);
    if (call === undefined) return false;
    const id = call.delays[0].key ?? '';
    return (await this.dataSource.manager.countBy(Order, { id })) > 0;
  }
}
