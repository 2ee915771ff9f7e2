import { Check, Column, Entity, JoinColumn, OneToOne, PrimaryColumn, type Relation } from 'typeorm';
import { Order } from '../orders/order.entity.js';

export const REVIEW_SOURCES = ['buyer', 'automatic'] as const;
export type ReviewSource = (typeof REVIEW_SOURCES)[number];

/** The order's id is the primary key: a second rating, of buyer or shop, changes nothing. */
@Entity('review')
@Check('ck_review_stars', `"stars" BETWEEN 1 AND 5`)
@Check('ck_review_source', `"source" IN ('buyer', 'automatic')`)
export class Review {
  @PrimaryColumn('uuid', { name: 'order_id', primaryKeyConstraintName: 'pk_review' })
  orderId!: string;

  /** 1 to 5. */
  @Column('smallint')
  stars!: number;

  @Column('varchar', { length: 16 })
  source!: ReviewSource;

  @Column('timestamptz', { name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt!: Date;

  @OneToOne(() => Order)
  @JoinColumn({ name: 'order_id', foreignKeyConstraintName: 'fk_review_order' })
  order!: Relation<Order>;
}
