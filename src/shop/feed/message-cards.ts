import { IsNull, Not, type EntityManager } from 'typeorm';
import { OutboxMessage } from '../outbox/outbox-message.entity.js';
import type { MessageCard } from './feed.js';

/** What buyers were told, the newest message first. */
export async function messageCards(manager: EntityManager, most: number): Promise<MessageCard[]> {
  const messages = await manager.find(OutboxMessage, {
    where: { sentAt: Not(IsNull()) },
    relations: { order: true },
    order: { id: 'DESC' },
    take: most,
  });
  return messages.map(({ id, sentAt, orderId, order, kind, text }) => ({
    id,
    at: sentAt!.toISOString(),
    orderId,
    no: order.no,
    kind,
    text,
  }));
}
