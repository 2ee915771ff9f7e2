import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { CampaignMessage } from '../campaigns/campaign-message.js';
import { MessageProvider, type Message } from './message-provider.js';
import type { OrderMessage } from './outbox.js';

/** Stands in for a provider of text messages: `GET /messages` shows what it received. */
@Injectable()
export class SampleMessages extends MessageProvider {
  constructor(private readonly dataSource: DataSource) {
    super();
  }

  override async send(messages: readonly Message[]): Promise<ReadonlyMap<string, Error>> {
    await this.toBuyers(messages.filter((message) => message.kind !== 'campaign'));
    await this.toMany(messages.filter((message) => message.kind === 'campaign'));
    return new Map();
  }

  private async toBuyers(messages: readonly OrderMessage[]): Promise<void> {
    if (messages.length === 0) return;
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
  }

  private async toMany(messages: readonly CampaignMessage[]): Promise<void> {
    if (messages.length === 0) return;
    await this.dataSource.query(
      `INSERT INTO sample_campaign_message (id, campaign_id, recipient, text)
       SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[])
       ON CONFLICT DO NOTHING`,
      [
        messages.map(({ id }) => id),
        messages.map(({ campaignId }) => campaignId),
        messages.map(({ recipient }) => recipient),
        messages.map(({ text }) => text),
      ],
    );
  }
}
