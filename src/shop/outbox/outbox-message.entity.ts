import {
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
  Unique,
  type Relation,
} from 'typeorm';
import { Order } from '../orders/order.entity.js';

/** What the buyer has to be told, at most once for each order. */
export const NEWS = ['order.paid', 'order.shipped', 'order.completed', 'order.closed'] as const;
export type News = (typeof NEWS)[number];

@Entity('outbox')
@Unique('uq_outbox_order_kind', ['orderId', 'kind'])
export class OutboxMessage {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'pk_outbox',
  })
  id!: string;

  @Column('uuid', { name: 'order_id' })
  orderId!: string;

  @Column('varchar', { length: 64 })
  kind!: News;

  @Column('timestamptz', { name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt!: Date;

  @ManyToOne(() => Order)
  @JoinColumn({ name: 'order_id', foreignKeyConstraintName: 'fk_outbox_order' })
  order!: Relation<Order>;
}
