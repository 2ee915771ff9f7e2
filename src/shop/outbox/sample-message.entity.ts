import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What the sample provider has delivered. It belongs to the provider; the shop never reads it. */
@Entity('sample_message')
export class SampleMessage {
  /** The message's id in the shop: repetitions are delivered once. */
  @PrimaryColumn('bigint', { primaryKeyConstraintName: 'pk_sample_message' })
  id!: string;

  @Column('uuid', { name: 'order_id' })
  orderId!: string;

  @Column('text')
  text!: string;

  @Column('timestamptz', { name: 'delivered_at', default: () => 'clock_timestamp()' })
  deliveredAt!: Date;
}
