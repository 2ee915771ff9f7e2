import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What the sample provider has delivered of campaigns. The shop never reads it. */
@Entity('sample_campaign_message')
export class SampleCampaignMessage {
  /** Repetitions are delivered once. */
  @PrimaryColumn('varchar', { length: 64, primaryKeyConstraintName: 'pk_sample_campaign_message' })
  id!: string;

  @Column('bigint', { name: 'campaign_id' })
  campaignId!: string;

  @Column('varchar', { length: 64 })
  recipient!: string;

  @Column('text')
  text!: string;

  @Column('timestamptz', { name: 'delivered_at', default: () => 'clock_timestamp()' })
  deliveredAt!: Date;
}
