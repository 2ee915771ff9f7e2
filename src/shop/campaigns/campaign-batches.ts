import { Inject, Injectable } from '@nestjs/common';
import { DelayService, DiscardDelay } from 'nestjs-delay-queue';
import { DataSource, type EntityManager } from 'typeorm';
import { serverNow } from '../shop.clock.js';
import { SHOP_CONFIG, type ShopConfig } from '../shop.config.js';
import type { CampaignMessage } from './campaign-message.js';
import { messagesPerSecond } from './campaign-pace.js';
import { Campaign } from './campaign.entity.js';

/** With pauses of 1 s, 2 s, 4 s and so on, about nine minutes. */
const ATTEMPTS_MAX = 10;

/** The recipients of one attempt. */
export interface CampaignBatch {
  campaignId: string;
  /** Identifies what this attempt has taken: a late attempt changes nothing of a later one. */
  triedAt: Date;
  messages: CampaignMessage[];
}

/**
 * The steps before the provider is called and after it has answered, each in one transaction that
 * locks the campaign. In it, the delay of a continuing campaign moves on, or else ends.
 */
@Injectable()
export class CampaignBatches {
  constructor(
    private readonly dataSource: DataSource,
    private readonly delays: DelayService,
    @Inject(SHOP_CONFIG) private readonly config: ShopConfig,
  ) {}

  /** Marks the next recipients as SENDING; `null`: it is stopped, or none is due now. */
  take(campaignId: string): Promise<CampaignBatch | null> {
    return this.dataSource.transaction(async (manager) => {
      const campaign = await lock(manager, campaignId);
      if (!campaign) return null;
      const triedAt = await serverNow(manager);
      const messages = await this.mark(manager, campaign, triedAt);
      if (messages.length > 0) return { campaignId, triedAt, messages };
      await this.goOn(manager, campaign);
      return null;
    });
  }

  settle(batch: CampaignBatch, failures: ReadonlyMap<string, Error>): Promise<void> {
    return this.dataSource.transaction(async (manager) => {
      const campaign = await lock(manager, batch.campaignId);
      await accepted(manager, batch, failures);
      await refused(manager, failures, batch.triedAt);
      if (campaign) await this.goOn(manager, campaign);
    });
  }

  /**
   * The attempt was cut before the provider had answered: recipients that were not accepted stay
   * SENDING, and are in the next batch. Does not lock the campaign, since a stop holds that row and
   * waits for this.
   */
  keepAccepted(batch: CampaignBatch, failures: ReadonlyMap<string, Error>): Promise<void> {
    return accepted(this.dataSource.manager, batch, failures);
  }

  /** First those that a crashed process has left in SENDING. */
  private async mark(
    manager: EntityManager,
    { id, state, message }: Campaign,
    triedAt: Date,
  ): Promise<CampaignMessage[]> {
    if (state === 'STOPPED') return [];
    const rows = await manager.query<{ id: string; recipient: string }[]>(
      `WITH taken AS (
         UPDATE campaign_recipient SET state = 'SENDING', tried_at = $2
         WHERE id = ANY (ARRAY(
           SELECT id FROM campaign_recipient
           WHERE campaign_id = $1 AND state IN ('SENDING', 'PENDING')
             AND retry_at <= clock_timestamp()
           ORDER BY state DESC, retry_at, id LIMIT $3))
         RETURNING id, recipient)
       SELECT id::text, recipient FROM taken ORDER BY id`,
      [id, triedAt, messagesPerSecond(this.config)],
    );
    if (rows.length === 0) return [];
    await manager.query(
      `UPDATE campaign SET state = 'RUNNING', started_at = coalesce(started_at, $2) WHERE id = $1`,
      [id, triedAt],
    );
    return rows.map((row): CampaignMessage => ({
      id: messageId(row.id),
      campaignId: id,
      kind: 'campaign',
      recipient: row.recipient,
      text: message,
    }));
  }

  private async goOn(manager: EntityManager, { id, state, merchantId }: Campaign): Promise<void> {
    const at = await nextBatchAt(manager, id);
    if (at === null) return complete(manager, id);
    const next = { at, key: id, group: merchantId, manager };
    await this.delays.schedule('campaign.send', { campaignId: id }, next);
    // An attempt does not cancel itself, but the delay that it has moved on can be cancelled like
    // any other. If it ended with the attempt, a little after this transaction, it could collide
    // with a resume in between.
    if (state === 'STOPPED') await this.delays.cancel('campaign.send', id, { manager });
  }
}

/**
 * When the next recipient is due, `null` when none is left. If that is now, the limits of
 * `campaign.send` decide when the batch begins.
 */
async function nextBatchAt(manager: EntityManager, campaignId: string): Promise<Date | null> {
  const [next] = await manager.query<{ at: Date | null }[]>(
    `SELECT greatest(clock_timestamp(), min(retry_at)) AS at FROM campaign_recipient
     WHERE campaign_id = $1 AND state IN ('SENDING', 'PENDING') HAVING count(*) > 0`,
    [campaignId],
  );
  return next?.at ?? null;
}

/** A concurrent stop or resume of the campaign waits here, or is seen. */
function lock(manager: EntityManager, id: string): Promise<Campaign | null> {
  return manager.findOne(Campaign, { where: { id }, lock: { mode: 'for_no_key_update' } });
}

async function accepted(
  manager: EntityManager,
  { messages, triedAt }: CampaignBatch,
  failures: ReadonlyMap<string, Error>,
): Promise<void> {
  const ids = messages.filter(({ id }) => !failures.has(id)).map(recipientId);
  await manager.query(
    `UPDATE campaign_recipient SET state = 'SENT', sent_at = clock_timestamp(), error = NULL
     WHERE id = ANY ($1) AND state = 'SENDING' AND tried_at = $2`,
    [ids, triedAt],
  );
}

/** Tries again later, unless the provider will never take it or has refused too often. */
async function refused(
  manager: EntityManager,
  failures: ReadonlyMap<string, Error>,
  triedAt: Date,
): Promise<void> {
  const refusals = [...failures].map(([id, why]) => ({
    id: recipientId({ id }),
    why: why.message,
    isFinal: why instanceof DiscardDelay,
  }));
  await manager.query(
    `UPDATE campaign_recipient recipient
     SET attempts = attempts + 1, error = why,
         state = CASE WHEN is_final OR attempts + 1 >= ${ATTEMPTS_MAX} THEN 'FAILED' ELSE 'PENDING' END,
         retry_at = clock_timestamp() + 2 ^ attempts * interval '1 second'
     FROM unnest($1::bigint[], $2::text[], $3::boolean[]) AS refusal (id, why, is_final)
     WHERE recipient.id = refusal.id AND state = 'SENDING' AND tried_at = $4`,
    [
      refusals.map(({ id }) => id),
      refusals.map(({ why }) => why),
      refusals.map(({ isFinal }) => isFinal),
      triedAt,
    ],
  );
}

async function complete(manager: EntityManager, id: string): Promise<void> {
  await manager.query(
    `UPDATE campaign SET state = 'COMPLETED', completed_at = clock_timestamp()
     WHERE id = $1 AND state <> 'COMPLETED'`,
    [id],
  );
}

/** As a provider gets it: distinct from the ids of order messages. */
const messageId = (id: string): string => `campaign-${id}`;
const recipientId = ({ id }: Pick<CampaignMessage, 'id'>): string => id.replace('campaign-', '');
