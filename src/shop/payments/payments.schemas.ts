import { z } from 'zod';
import { cents } from '../catalog/catalog.schemas.js';
import { orderId } from '../orders/order-id.pipe.js';
import { PAYMENT_STATUSES } from './payment.entity.js';

const CENTS_MAX = 2_147_483_647;

const name = (length: number) =>
  z.string().regex(new RegExp(`^[\\x20-\\x7e]{1,${length}}$`), {
    error: `must be 1 to ${length} printable ASCII characters`,
  });

export const paymentReport = z.object({
  orderId,
  provider: name(64).meta({ example: 'sample' }),
  transaction: name(255).meta({ example: 'tx-1', description: "The provider's id of the payment" }),
  amount: cents.min(1).max(CENTS_MAX),
});
export type PaymentReport = z.infer<typeof paymentReport>;

export const paymentReceipt = z.object({
  paymentId: z.string(),
  status: z.enum(PAYMENT_STATUSES),
  repeated: z.boolean().meta({ description: 'This transaction was reported before' }),
});
export type PaymentReceipt = z.infer<typeof paymentReceipt>;
