import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  Unique,
  type Relation,
} from 'typeorm';
import { Payment } from './payment.entity.js';

/**
 * A report under a transaction id that is on record for another order or amount. It is no payment:
 * a provider captures once per transaction. A person has to ask the provider which is true.
 */
@Entity('payment_conflict')
@Check('ck_payment_conflict_amount', `"amount" > 0`)
@Unique('uq_payment_conflict_report', ['paymentId', 'orderId', 'amount'])
@Index('ix_payment_conflict_order_id', ['orderId'])
export class PaymentConflict {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'pk_payment_conflict' })
  id!: string;

  /** The payment on record under that transaction id. */
  @Column('uuid', { name: 'payment_id' })
  paymentId!: string;

  @ManyToOne(() => Payment)
  @JoinColumn({ name: 'payment_id', foreignKeyConstraintName: 'fk_payment_conflict_payment' })
  payment!: Relation<Payment>;

  /** As reported; the shop may not know that order. */
  @Column('uuid', { name: 'order_id' })
  orderId!: string;

  /** As reported, in cents. */
  @Column('integer')
  amount!: number;

  /** The first report; a repetition adds nothing. */
  @Column('timestamptz', { name: 'reported_at', default: () => 'clock_timestamp()' })
  reportedAt!: Date;
}
