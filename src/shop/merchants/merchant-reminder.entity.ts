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

/** A merchant's reminder of one morning: orders wait to be shipped. */
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

  /** Exactly the `dueAt` of that run of `merchant.remind`. */
  @PrimaryColumn('timestamptz', {
    name: 'due_at',
    primaryKeyConstraintName: 'pk_merchant_reminder',
  })
  dueAt!: Date;

  /** How many orders. */
  @Column('integer')
  orders!: number;

  /** When the oldest of them was paid. */
  @Column('timestamptz', { name: 'oldest_paid_at' })
  oldestPaidAt!: Date;

  @ManyToOne(() => Merchant)
  @JoinColumn({
    name: 'merchant_id',
    foreignKeyConstraintName: 'fk_merchant_reminder_merchant',
  })
  merchant!: Relation<Merchant>;
}
