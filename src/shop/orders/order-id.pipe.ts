import { Injectable, type PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { unknownOrder } from './order.moves.js';

/** Lower case, as Postgres writes it: the id is also the key of the order's delays. */
export const orderId = z.guid().toLowerCase();

/** An invalid id belongs to no order: 404. */
@Injectable()
export class OrderIdPipe implements PipeTransform<string, string> {
  transform(value: string): string {
    const id = orderId.safeParse(value);
    if (!id.success) throw unknownOrder(value);
    return id.data;
  }
}
