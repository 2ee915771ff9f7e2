import { Injectable, NotFoundException } from '@nestjs/common';
import { DelayService } from 'nestjs-delay-queue';
import { DataSource } from 'typeorm';
import { messageId, type MessagesQuery, type MessageView } from './messages.schemas.js';

const PAGE = 100;

type Row = Omit<MessageView, 'createdAt' | 'sentAt'> & { createdAt: Date; sentAt: Date | null };

@Injectable()
export class MessagesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
  ) {}

  /** A page of messages, newest first. */
  list({ orderId, after }: MessagesQuery): Promise<MessageView[]> {
    return this.views([orderId ?? null, after ?? null, null]);
  }

  /**
   * Retries a message now that waits for its next attempt, or that was given up. One that is sent
   * stays sent.
   *
   * @throws 404 for an unknown message
   */
  async retry(given: string): Promise<MessageView> {
    const id = messageId.safeParse(given);
    const [message] = id.success ? await this.views([null, null, id.data]) : [];
    if (!message) throw new NotFoundException(`there is no message ${given}`);
    if (message.state !== 'WAITING' && message.state !== 'FAILED') return message;
    await this.delays.schedule(
      'message.send',
      { messageId: message.id },
      { after: 0, key: message.id },
    );
    const [tried] = await this.views([null, null, message.id]);
    return tried!;
  }

  private async views(
    parameters: [orderId: string | null, after: string | null, id: string | null],
  ): Promise<MessageView[]> {
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
         AND ($3::bigint IS NULL OR outbox.id = $3)
       ORDER BY outbox.id DESC LIMIT ${PAGE}`,
      parameters,
    );
    return rows.map((row) => ({
      ...row,
      createdAt: row.createdAt.toISOString(),
      sentAt: row.sentAt?.toISOString() ?? null,
    }));
  }
}
