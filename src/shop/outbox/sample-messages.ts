import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { MessageProvider } from './message-provider.js';
import type { Message } from './outbox.js';

/** Stands in for a provider of text messages: what it was given can be read at `GET /messages`. */
@Injectable()
export class SampleMessages extends MessageProvider {
  constructor(private readonly dataSource: DataSource) {
    super();
  }

  override async send(messages: readonly Message[]): Promise<ReadonlyMap<string, Error>> {
    await this.dataSource.query(
      `INSERT INTO sample_message (id, order_id, text)
       SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[])
       ON CONFLICT DO NOTHING`,
      [
        messages.map(({ id }) => id),
        messages.map(({ orderId }) => orderId),
        messages.map(({ text }) => text),
      ],
    );
    return new Map();
  }
}
