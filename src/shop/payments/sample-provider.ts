import { Injectable } from '@nestjs/common';
import { DiscardDelay } from 'nestjs-delay-queue';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { untilServerNow } from '../shop.clock.js';
import { PaymentProvider } from './payment-provider.js';
import type { Payment } from './payment.entity.js';
import type { RefundMood } from './sample-provider.entities.js';
import type { ProviderMood, ProviderView } from './sample-provider.schemas.js';

/** Which provider captured the payment, and its transaction id. */
export interface Capture {
  provider: string;
  transaction: string;
}

/**
 * Stands in for a payment provider, only in the demo. Captures and refunds at once, unless it is
 * set to fail. With a real provider the capture happens outside the shop's transaction and is
 * reported by `POST /payments/callback`.
 */
@Injectable()
export class SampleProvider extends PaymentProvider {
  readonly name = 'sample';

  constructor(private readonly dataSource: DataSource) {
    super();
  }

  /** @param answersAt on the database's clock; default: at once */
  async capture(answersAt?: Date): Promise<Capture> {
    if (answersAt) await untilServerNow(this.dataSource.manager, answersAt);
    return { provider: this.name, transaction: randomUUID() };
  }

  override async refund({ id, amount }: Payment, signal: AbortSignal): Promise<void> {
    const { refunds } = await this.show();
    if (refunds === 'fail') throw new Error('the provider is out of order');
    if (refunds === 'refuse') throw new DiscardDelay('the provider refuses to pay this back');
    signal.throwIfAborted();
    await this.dataSource.query(
      `INSERT INTO sample_refund (payment_id, amount) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
      [id, amount],
    );
  }

  /** How it takes refunds, for all processes of the shop. */
  async take({ refunds, for: forMs }: ProviderMood): Promise<ProviderView> {
    await this.dataSource.query(
      `UPDATE sample_provider
       SET refunds = $1, until = clock_timestamp() + $2::float8 * interval '1 millisecond'`,
      [refunds, forMs ?? null],
    );
    return this.show();
  }

  async show(): Promise<ProviderView> {
    const [mood] = await this.dataSource.query<{ refunds: RefundMood; until: Date | null }[]>(
      `SELECT CASE WHEN until <= clock_timestamp() THEN 'work' ELSE refunds END AS refunds,
              CASE WHEN until > clock_timestamp() THEN until END AS until
       FROM sample_provider`,
    );
    return { refunds: mood!.refunds, until: mood!.until?.toISOString() ?? null };
  }
}
