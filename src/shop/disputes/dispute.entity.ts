import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  type Relation,
} from 'typeorm';
import type { OrderDelay } from '../delays.js';
import { milliseconds } from '../merchants/milliseconds.js';
import { Order } from '../orders/order.entity.js';

/** Buyer and seller disagree about an order; while it is open, no timer runs. */
@Entity('dispute')
@Index('uq_dispute_open', ['orderId'], { unique: true, where: `"released_at" IS NULL` })
@Index('ix_dispute_order_id', ['orderId'])
export class Dispute {
  @PrimaryColumn('uuid', { primaryKeyConstraintName: 'pk_dispute' })
  id!: string;

  @Column('uuid', { name: 'order_id' })
  orderId!: string;

  @Column('text')
  reason!: string;

  @Column('timestamptz', { name: 'opened_at', default: () => 'clock_timestamp()' })
  openedAt!: Date;

  @Column('timestamptz', { name: 'released_at', nullable: true })
  releasedAt!: Date | null;

  @ManyToOne(() => Order)
  @JoinColumn({ name: 'order_id', foreignKeyConstraintName: 'fk_dispute_order' })
  order!: Relation<Order>;
}

/** A delay of an order under dispute: it is not scheduled, and this much of its time is left. */
@Entity('frozen_timer')
@Check('ck_frozen_timer_left', `"left_ms" >= 0`)
export class FrozenTimer {
  @PrimaryColumn('uuid', { name: 'order_id', primaryKeyConstraintName: 'pk_frozen_timer' })
  orderId!: string;

  @PrimaryColumn('varchar', { length: 64, primaryKeyConstraintName: 'pk_frozen_timer' })
  name!: OrderDelay;

  @Column({ ...milliseconds, name: 'left_ms' })
  leftMs!: number;

  @ManyToOne(() => Order)
  @JoinColumn({ name: 'order_id', foreignKeyConstraintName: 'fk_frozen_timer_order' })
  order!: Relation<Order>;
}
