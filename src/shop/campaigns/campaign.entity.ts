import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryGeneratedColumn,
  Unique,
  type Relation,
} from 'typeorm';
import { Merchant } from '../merchants/merchant.entity.js';

export const CAMPAIGN_STATES = ['SCHEDULED', 'RUNNING', 'STOPPED', 'COMPLETED'] as const;
export type CampaignState = (typeof CAMPAIGN_STATES)[number];

export const RECIPIENT_STATES = ['PENDING', 'SENDING', 'SENT', 'FAILED'] as const;
export type RecipientState = (typeof RECIPIENT_STATES)[number];

/**
 * One text message for many recipients. While it is SCHEDULED or RUNNING, one `campaign.send` under
 * its id waits or runs. Every change of either holds this row and changes both in one transaction.
 */
@Entity('campaign')
@Check('ck_campaign_state', `"state" IN ('SCHEDULED', 'RUNNING', 'STOPPED', 'COMPLETED')`)
@Check('ck_campaign_completed', `("state" = 'COMPLETED') = ("completed_at" IS NOT NULL)`)
@Check('ck_campaign_request_hash', `("idempotency_key" IS NULL) = ("request_hash" IS NULL)`)
@Unique('uq_campaign_idempotency_key', ['idempotencyKey'])
export class Campaign {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'pk_campaign',
  })
  id!: string;

  @Column('varchar', { length: 16 })
  state!: CampaignState;

  /** Its merchant, also the group of its `campaign.send`. */
  @Column({ type: 'varchar', length: 64, collation: 'C', name: 'merchant_id' })
  merchantId!: string;

  @ManyToOne(() => Merchant)
  @JoinColumn({ name: 'merchant_id', foreignKeyConstraintName: 'fk_campaign_merchant' })
  merchant!: Relation<Merchant>;

  @Column('text')
  message!: string;

  /** When it begins. A campaign that has begun continues at once when it is resumed. */
  @Column('timestamptz', { name: 'send_at' })
  sendAt!: Date;

  @Column('timestamptz', { name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt!: Date;

  /** When its first batch was taken. */
  @Column('timestamptz', { name: 'started_at', nullable: true })
  startedAt!: Date | null;

  @Column('timestamptz', { name: 'completed_at', nullable: true })
  completedAt!: Date | null;

  @Column('varchar', { name: 'idempotency_key', length: 255, nullable: true })
  idempotencyKey!: string | null;

  /** Tells a repeated request from another one under the same key. */
  @Column('varchar', { name: 'request_hash', length: 64, nullable: true })
  requestHash!: string | null;
}

/**
 * A recipient of a campaign, once. SENDING is written before the provider is called: after a crash
 * those recipients are handed over again, under the same id.
 */
@Entity('campaign_recipient')
@Unique('uq_campaign_recipient', ['campaignId', 'recipient'])
@Check('ck_campaign_recipient_state', `"state" IN ('PENDING', 'SENDING', 'SENT', 'FAILED')`)
@Check('ck_campaign_recipient_sent', `("state" = 'SENT') = ("sent_at" IS NOT NULL)`)
@Index('ix_campaign_recipient_next', ['campaignId', 'state', 'retryAt'])
export class CampaignRecipient {
  /** Also the id by which the provider recognizes repetitions. */
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'pk_campaign_recipient',
  })
  id!: string;

  @Column('bigint', { name: 'campaign_id' })
  campaignId!: string;

  @ManyToOne(() => Campaign)
  @JoinColumn({ name: 'campaign_id', foreignKeyConstraintName: 'fk_campaign_recipient_campaign' })
  campaign!: Relation<Campaign>;

  @Column('varchar', { length: 64 })
  recipient!: string;

  @Column('varchar', { length: 16, default: 'PENDING' })
  state!: RecipientState;

  /** How often the provider refused. */
  @Column('integer', { default: 0 })
  attempts!: number;

  /** Earliest next attempt. */
  @Column('timestamptz', { name: 'retry_at', default: () => 'clock_timestamp()' })
  retryAt!: Date;

  /** When its last batch was taken; identifies that batch. */
  @Column('timestamptz', { name: 'tried_at', nullable: true })
  triedAt!: Date | null;

  @Column('timestamptz', { name: 'sent_at', nullable: true })
  sentAt!: Date | null;

  @Column('text', { nullable: true })
  error!: string | null;
}
