import {
  Check,
  Column,
  Entity,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
  Unique,
  type Relation,
} from 'typeorm';
import { Order } from '../orders/order.entity.js';
import type { News } from './news.js';

/**
 * A message for the buyer, written in the transaction of its cause. While neither `sentAt` nor
 * `droppedAt` is set, a `message.send` under its id waits, runs or is a dead letter.
 */
@Entity('outbox')
@Unique('uq_outbox_order_kind', ['orderId', 'kind'])
@Check('ck_outbox_ended_once', `"sent_at" IS NULL OR "dropped_at" IS NULL`)
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

  /** Fixed when written: every attempt to send it has the same text under the same id. */
  @Column('text')
  text!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt!: Date;

  /** When the provider accepted it. */
  @Column('timestamptz', { name: 'sent_at', nullable: true })
  sentAt!: Date | null;

  /** When it no longer made sense to send it. */
  @Column('timestamptz', { name: 'dropped_at', nullable: true })
  droppedAt!: Date | null;

  @ManyToOne(() => Order)
  @JoinColumn({ name: 'order_id', foreignKeyConstraintName: 'fk_outbox_order' })
  order!: Relation<Order>;
}
