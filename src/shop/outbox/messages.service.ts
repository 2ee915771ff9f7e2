import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { MessagesQuery, MessageView } from './messages.schemas.js';

const PAGE = 100;

type Row = Omit<MessageView, 'createdAt' | 'sentAt'> & { createdAt: Date; sentAt: Date | null };

@Injectable()
export class MessagesService {
  constructor(private readonly dataSource: DataSource) {}

  /** A page of messages, newest first. */
  async list({ orderId, after }: MessagesQuery): Promise<MessageView[]> {
    const rows = await this.dataSource.query<Row[]>(
      `SELECT outbox.id::text, order_id AS "orderId", kind, text,
              CASE WHEN sent_at IS NOT NULL THEN 'SENT'
                   WHEN dropped_at IS NOT NULL THEN 'DROPPED'
                   WHEN delay.wake_at = 'infinity' THEN 'FAILED' ELSE 'WAITING' END AS state,
              coalesce(delay.attempts, 0) AS attempts, delay.last_error AS error,
              outbox.created_at AS "createdAt", sent_at AS "sentAt"
       FROM outbox
       LEFT JOIN delay_queue.delay ON delay.name = 'message.send' AND delay.key = outbox.id::text
       WHERE ($1::uuid IS NULL OR order_id = $1) AND ($2::bigint IS NULL OR outbox.id < $2)
       ORDER BY outbox.id DESC LIMIT $3`,
      [orderId ?? null, after ?? null, PAGE],
    );
    return rows.map((row) => ({
      ...row,
      createdAt: row.createdAt.toISOString(),
      sentAt: row.sentAt?.toISOString() ?? null,
    }));
  }
}
