import { Check, Column, Entity, Index, PrimaryColumn, Unique } from 'typeorm';

export const PAYMENT_STATUSES = ['CAPTURED', 'REFUND_PENDING', 'REFUNDED'] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

/** A payment that a provider has captured. It is recorded whatever became of the order. */
@Entity('payment')
@Check('ck_payment_amount', `"amount" > 0`)
@Check('ck_payment_status', `"status" IN ('CAPTURED', 'REFUND_PENDING', 'REFUNDED')`)
@Check('ck_payment_refund_reason', `("status" = 'CAPTURED') = ("refund_reason" IS NULL)`)
@Check('ck_payment_refunded_at', `("status" = 'REFUNDED') = ("refunded_at" IS NOT NULL)`)
@Unique('uq_payment_provider_transaction', ['provider', 'transaction'])
@Index('ix_payment_order_id', ['orderId'])
@Index('ix_payment_captured_at', ['capturedAt', 'id'])
export class Payment {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'pk_payment' })
  id!: string;

  /** As reported. No foreign key, because the shop may not know that order. */
  @Column('uuid', { name: 'order_id' })
  orderId!: string;

  @Column('varchar', { length: 64 })
  provider!: string;

  /** The provider's own id of this payment. */
  @Column('varchar', { length: 255 })
  transaction!: string;

  /** Cents. */
  @Column('integer')
  amount!: number;

  @Column('varchar', { length: 16 })
  status!: PaymentStatus;

  @Column('text', { name: 'refund_reason', nullable: true })
  refundReason!: string | null;

  @Column('timestamptz', { name: 'captured_at', default: () => 'clock_timestamp()' })
  capturedAt!: Date;

  @Column('timestamptz', { name: 'refunded_at', nullable: true })
  refundedAt!: Date | null;
}
