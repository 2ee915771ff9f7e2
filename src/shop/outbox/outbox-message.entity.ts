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
 * One thing that the buyer has to be told, written in the transaction that made it so. While neither
 * `sentAt` nor `droppedAt` is set, a `message.send` under its id waits, runs or is a dead letter.
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

  /** Fixed when it is written: every attempt to send it says the same under the same id. */
  @Column('text')
  text!: string;

  @Column('timestamptz', { name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt!: Date;

  /** When the provider had accepted it. */
  @Column('timestamptz', { name: 'sent_at', nullable: true })
  sentAt!: Date | null;

  /** When it turned out that there was no sense in sending it any more. */
  @Column('timestamptz', { name: 'dropped_at', nullable: true })
  droppedAt!: Date | null;

  @ManyToOne(() => Order)
  @JoinColumn({ name: 'order_id', foreignKeyConstraintName: 'fk_outbox_order' })
  order!: Relation<Order>;
}
