import { Injectable } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { TELLING, WHILE, type News } from './news.js';
import { nextRound } from './rounds.js';

/** A message to a buyer, as a provider gets it. `id` is its idempotency key: it is sent once. */
export interface OrderMessage {
  id: string;
  orderId: string;
  kind: News;
  text: string;
}

/**
 * Writes one piece of news for each order that is in a state for it, locked in id order: a
 * concurrent payment waits here, or is seen. Orders that had this news before are skipped.
 *
 * @returns the messages, with when they were written
 */
export async function writeNews(
  manager: EntityManager,
  kind: News,
  orderIds: readonly string[],
): Promise<{ id: string; writtenAt: Date }[]> {
  const { text, while: statuses = null } = TELLING[kind];
  return manager.query(
    `INSERT INTO outbox (order_id, kind, text)
     SELECT id, $2, replace(replace($3, '{no}', no::text),
                            '{total}', to_char(total / 100.0, 'FM99999999990.00'))
     FROM orders
     WHERE id = ANY ($1) AND ($4::text[] IS NULL OR status = ANY ($4))
     ORDER BY id FOR SHARE
     ON CONFLICT DO NOTHING
     RETURNING id::text, clock_timestamp() AS "writtenAt"`,
    [orderIds, kind, text, statuses],
  );
}

/** Messages to buyers: written together with their cause, sent afterwards by `message.send`. */
@Injectable()
export class Outbox {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /** In the caller's transaction: if that rolls back, no message is sent. */
  async post(manager: EntityManager, kind: News, orderIds: readonly string[]): Promise<void> {
    const written = await writeNews(manager, kind, orderIds);
    await this.delays.scheduleMany(
      written.map(({ id, writtenAt }) => ({
        name: 'message.send',
        payload: { messageId: id },
        key: id,
        at: nextRound(writtenAt),
      })),
      { manager },
    );
  }

  /** The ones that are still to be sent. Messages that no longer make sense are dropped. */
  toSend(ids: readonly string[]): Promise<OrderMessage[]> {
    return this.dataSource.query<OrderMessage[]>(
      `WITH waiting AS MATERIALIZED (
         SELECT outbox.*, kind = ANY ($2::text[]) AND NOT EXISTS (
                  SELECT FROM unnest($2::text[], $3::text[]) AS telling (kind, status)
                  WHERE telling.kind = outbox.kind AND telling.status = orders.status) AS idle
         FROM outbox JOIN orders ON orders.id = outbox.order_id
         WHERE outbox.id = ANY ($1) AND sent_at IS NULL AND dropped_at IS NULL
       ), dropped AS (
         UPDATE outbox SET dropped_at = clock_timestamp()
         WHERE id = ANY (ARRAY (SELECT id FROM waiting WHERE idle))
           AND sent_at IS NULL AND dropped_at IS NULL
       )
       SELECT id::text, order_id AS "orderId", kind, text FROM waiting WHERE NOT idle ORDER BY id`,
      [ids, WHILE.map(({ kind }) => kind), WHILE.map(({ status }) => status)],
    );
  }

  async sent(messages: readonly OrderMessage[]): Promise<void> {
    await this.dataSource.query(
      `UPDATE outbox SET sent_at = clock_timestamp()
       WHERE id = ANY ($1) AND sent_at IS NULL AND dropped_at IS NULL`,
      [messages.map(({ id }) => id)],
    );
  }
}
