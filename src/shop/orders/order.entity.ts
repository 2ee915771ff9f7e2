import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  Unique,
  type Relation,
} from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';
import { milliseconds } from '../merchants/milliseconds.js';
import { Sku } from '../catalog/sku.entity.js';

export const ORDER_STATUSES = ['UNPAID', 'PAID', 'SHIPPED', 'COMPLETED', 'CLOSED'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

@Entity('orders')
@Check('ck_orders_status', `"status" IN ('UNPAID', 'PAID', 'SHIPPED', 'COMPLETED', 'CLOSED')`)
@Check('ck_orders_total', `"total" > 0`)
@Check('ck_orders_close_reason', `("status" = 'CLOSED') = ("close_reason" IS NOT NULL)`)
@Check(
  'ck_orders_disputed',
  `"disputed_at" IS NULL OR "status" IN ('PAID', 'SHIPPED', 'COMPLETED')`,
)
@Check('ck_orders_request_hash', `("idempotency_key" IS NULL) = ("request_hash" IS NULL)`)
@Unique('uq_orders_no', ['no'])
@Unique('uq_orders_idempotency_key', ['idempotencyKey'])
@Index('ix_orders_status_no', ['status', 'no'])
@Index('ix_orders_unpaid_pay_deadline', ['payDeadline'], { where: `"status" = 'UNPAID'` })
export class Order {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'pk_orders' })
  id!: string;

  /** For people; machines use `id`. */
  @Column({ type: 'integer', generated: 'identity', generatedIdentity: 'ALWAYS' })
  no!: number;

  @Column('varchar', { length: 16 })
  status!: OrderStatus;

  /** Cents. */
  @Column('integer')
  total!: number;

  @Column({ type: 'varchar', length: 64, collation: 'C', name: 'merchant_id' })
  merchantId!: string;

  @ManyToOne(() => Merchant)
  @JoinColumn({ name: 'merchant_id', foreignKeyConstraintName: 'fk_orders_merchant' })
  merchant!: Relation<Merchant>;

  /** Exactly the `dueAt` of the order's `order.close`. */
  @Column('timestamptz', { name: 'pay_deadline' })
  payDeadline!: Date;

  /** Exactly the `dueAt` of its `order.confirm`; `null` before shipping and during a dispute. */
  @Column('timestamptz', { name: 'auto_confirm_at', nullable: true })
  autoConfirmAt!: Date | null;

  /** How long the buyer may take to confirm, also the length of an extension; fixed at placing. */
  @Column({ ...milliseconds, name: 'confirm_after_ms' })
  confirmAfterMs!: number;

  /** How long the buyer may take to rate; fixed at placing. */
  @Column({ ...milliseconds, name: 'rate_after_ms' })
  rateAfterMs!: number;

  /** The buyer has used the one extension of `autoConfirmAt`. */
  @Column('boolean', { default: false })
  extended!: boolean;

  /** While it is set, no timer runs and no call moves the order. */
  @Column('timestamptz', { name: 'disputed_at', nullable: true })
  disputedAt!: Date | null;

  @Column('text', { name: 'close_reason', nullable: true })
  closeReason!: string | null;

  @Column('timestamptz', { name: 'placed_at', default: () => 'clock_timestamp()' })
  placedAt!: Date;

  @Column('timestamptz', { name: 'paid_at', nullable: true })
  paidAt!: Date | null;

  @Column('timestamptz', { name: 'shipped_at', nullable: true })
  shippedAt!: Date | null;

  @Column('timestamptz', { name: 'extended_at', nullable: true })
  extendedAt!: Date | null;

  @Column('timestamptz', { name: 'completed_at', nullable: true })
  completedAt!: Date | null;

  @Column('timestamptz', { name: 'closed_at', nullable: true })
  closedAt!: Date | null;

  @Column('varchar', { name: 'idempotency_key', length: 255, nullable: true })
  idempotencyKey!: string | null;

  /** Hash of the request under that key, to tell a retry from a mistake. */
  @Column('varchar', { name: 'request_hash', length: 64, nullable: true })
  requestHash!: string | null;

  @OneToMany(() => OrderItem, (item) => item.order)
  items!: OrderItem[];
}

/** A line of an order, with name and price from when it was placed. */
@Entity('order_item')
@Check('ck_order_item_quantity', `"quantity" > 0`)
export class OrderItem {
  @PrimaryColumn('uuid', { name: 'order_id', primaryKeyConstraintName: 'pk_order_item' })
  orderId!: string;

  @PrimaryColumn({
    type: 'varchar',
    length: 64,
    collation: 'C',
    primaryKeyConstraintName: 'pk_order_item',
  })
  sku!: string;

  @Column('text')
  name!: string;

  @Column('integer')
  price!: number;

  @Column('integer')
  quantity!: number;

  @ManyToOne(() => Order, (order) => order.items)
  @JoinColumn({ name: 'order_id', foreignKeyConstraintName: 'fk_order_item_order' })
  order!: Relation<Order>;

  @ManyToOne(() => Sku)
  @JoinColumn({ name: 'sku', foreignKeyConstraintName: 'fk_order_item_sku' })
  article!: Relation<Sku>;
}
