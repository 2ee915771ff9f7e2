import { z } from 'zod';
import { cents } from '../catalog/catalog.schemas.js';
import { limit, next } from '../http/page.js';
import { orderId } from '../orders/order-id.pipe.js';
import { PAYMENT_STATUSES } from './payment.entity.js';

const CENTS_MAX = 2_147_483_647;

const name = (length: number) =>
  z.string().regex(new RegExp(`^[\\x20-\\x7e]{1,${length}}$`), {
    error: `must be 1 to ${length} printable ASCII characters`,
  });

/**
 * Not strict: a provider adds fields at any time, and a refused report is an unrecorded payment.
 */
export const paymentReport = z.object({
  orderId,
  provider: name(64).meta({ example: 'sample' }),
  transaction: name(255).meta({ example: 'tx-1', description: "The provider's id of the payment" }),
  amount: cents.min(1).max(CENTS_MAX),
});
export type PaymentReport = z.infer<typeof paymentReport>;

/** Lower case, as Postgres writes it. */
export const paymentId = z.guid().toLowerCase();

export const paymentsQuery = z.strictObject({
  orderId: orderId.optional().meta({ description: 'For this order, known to the shop or not' }),
  status: z.enum(PAYMENT_STATUSES).optional().meta({ description: 'Only those in this state' }),
  after: paymentId.optional().meta({ description: 'The page that follows this payment' }),
  limit,
});
export type PaymentsQuery = z.infer<typeof paymentsQuery>;

export const paymentReceipt = z.object({
  paymentId: z.string(),
  status: z.enum(PAYMENT_STATUSES),
  repeated: z.boolean().meta({ description: 'The same was reported before' }),
  conflict: z
    .object({ orderId: z.string(), amount: cents })
    .optional()
    .meta({
      description:
        'What is on record under this transaction. The report differs: it changed ' +
        'nothing, and is recorded as a conflict.',
    }),
  reason: z.string().optional().meta({
    description: 'Why this payment does not pay the order',
    example: 'paid 1200 instead of 1250',
  }),
});
export type PaymentReceipt = z.infer<typeof paymentReceipt>;

const instant = z.string().meta({ format: 'date-time', example: '2026-11-20T12:30:00.000Z' });

export const paymentView = z.object({
  id: z.string(),
  status: z.enum(PAYMENT_STATUSES),
  amount: cents,
  provider: z.string(),
  transaction: z.string(),
  refundReason: z.string().nullable(),
  refundError: z.string().nullable().meta({ description: 'Why the last attempt to refund failed' }),
  capturedAt: instant,
  refundedAt: instant.nullable(),
});
export type PaymentView = z.infer<typeof paymentView>;

const ofOrder = z.string().meta({ description: 'As reported; the shop may not know it' });

export const paymentLine = paymentView.omit({ refundError: true }).extend({ orderId: ofOrder });
export type PaymentLine = z.infer<typeof paymentLine>;

export const paymentPage = z.object({ payments: z.array(paymentLine), next });
export type PaymentPage = z.infer<typeof paymentPage>;

export const paymentDetails = paymentView.extend({
  orderId: ofOrder,
  conflicts: z
    .array(z.object({ orderId: z.string(), amount: cents, reportedAt: instant }))
    .meta({ description: 'Reports of the same transaction that differ' }),
  refund: z
    .object({
      state: z.enum(['scheduled', 'running', 'retrying', 'dead']),
      attempts: z.int(),
      nextAt: instant.nullable(),
    })
    .nullable()
    .meta({ description: '`dead`: no further attempt is made automatically' }),
});
export type PaymentDetails = z.infer<typeof paymentDetails>;
