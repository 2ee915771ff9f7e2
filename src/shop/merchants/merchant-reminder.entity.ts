import {
  Check,
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  type Relation,
} from 'typeorm';
import { Merchant } from './merchant.entity.js';

/** On one morning a merchant was told that orders wait to be shipped. */
@Entity('merchant_reminder')
@Check('ck_merchant_reminder_orders', `"orders" > 0`)
export class MerchantReminder {
  @PrimaryColumn({
    type: 'varchar',
    length: 64,
    collation: 'C',
    name: 'merchant_id',
    primaryKeyConstraintName: 'pk_merchant_reminder',
  })
  merchantId!: string;

  /** The morning, exactly: the `dueAt` of that run of `merchant.remind`. */
  @PrimaryColumn('timestamptz', {
    name: 'due_at',
    primaryKeyConstraintName: 'pk_merchant_reminder',
  })
  dueAt!: Date;

  /** How many of them. */
  @Column('integer')
  orders!: number;

  /** For how long the first of them has waited. */
  @Column('timestamptz', { name: 'oldest_paid_at' })
  oldestPaidAt!: Date;

  @ManyToOne(() => Merchant)
  @JoinColumn({
    name: 'merchant_id',
    foreignKeyConstraintName: 'fk_merchant_reminder_merchant',
  })
  merchant!: Relation<Merchant>;
}
