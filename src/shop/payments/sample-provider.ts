import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Payment } from './payment.entity.js';

/** Who took the money and under which id. */
export interface Capture {
  provider: string;
  transaction: string;
}

/**
 * Stands in for a payment provider: takes money at once and gives it back at once, without leaving
 * the process. With a real one the capture happens outside the shop's transaction and is reported
 * by `POST /payments/callback`.
 */
@Injectable()
export class SampleProvider {
  capture(): Capture {
    return { provider: 'sample', transaction: randomUUID() };
  }

  /**
   * @param payment its `id` is the idempotency key of the refund: an attempt that fails after the
   * provider has paid back is repeated, and must not pay twice
   */
  refund(_payment: Pick<Payment, 'id' | 'provider' | 'transaction' | 'amount'>): Promise<void> {
    return Promise.resolve();
  }
}
