import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

export const REFUND_MOODS = ['work', 'fail', 'refuse'] as const;
export type RefundMood = (typeof REFUND_MOODS)[number];

/** How the sample provider takes refunds: one row, so that every process of the shop sees it. */
@Entity('sample_provider')
@Check('ck_sample_provider_one', `"id" = 1`)
@Check('ck_sample_provider_refunds', `"refunds" IN ('work', 'fail', 'refuse')`)
export class SampleProviderMood {
  @PrimaryColumn('integer', { primaryKeyConstraintName: 'pk_sample_provider' })
  id!: number;

  @Column('varchar', { length: 16 })
  refunds!: RefundMood;

  /** From then on refunds work again; `null`: until it is changed. */
  @Column('timestamptz', { nullable: true })
  until!: Date | null;
}

/** What the sample provider has refunded: its own books, not the shop's. */
@Entity('sample_refund')
export class SampleRefund {
  /** The shop's payment: repeated requests for it are refunded once. */
  @PrimaryColumn('uuid', { name: 'payment_id', primaryKeyConstraintName: 'pk_sample_refund' })
  paymentId!: string;

  @Column('integer')
  amount!: number;

  @Column('timestamptz', { name: 'paid_at', default: () => 'clock_timestamp()' })
  paidAt!: Date;
}
