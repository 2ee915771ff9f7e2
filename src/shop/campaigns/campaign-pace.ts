import type { EntityManager } from 'typeorm';
import type { ShopConfig } from '../shop.config.js';

/**
 * The pace of all campaigns together: one batch begins in a second, whichever process sends it, on the
 * database's clock. A batch is as many messages as the provider takes in a second.
 */
export const messagesPerSecond = (config: ShopConfig): number => config.messagesPerSecond ?? 20;

/** Takes the next second for a campaign, if that is free and somebody of the campaign is to be sent to now. */
export async function takeTurn(manager: EntityManager, campaignId: string): Promise<Date | null> {
  const [taken] = await manager.query<[{ triedAt: Date }[], number]>(
    `UPDATE campaign_pace
     SET free_at = date_trunc('milliseconds', clock_timestamp()) + interval '1 second'
     WHERE free_at <= clock_timestamp()
       AND EXISTS (SELECT FROM campaign
                   JOIN campaign_recipient recipient ON recipient.campaign_id = campaign.id
                   WHERE campaign.id = $1 AND campaign.state IN ('SCHEDULED', 'RUNNING')
                     AND recipient.state IN ('SENDING', 'PENDING')
                     AND recipient.retry_at <= clock_timestamp())
     RETURNING free_at - interval '1 second' AS "triedAt"`,
    [campaignId],
  );
  return taken[0]?.triedAt ?? null;
}

/**
 * When the campaign should ask again; `null` when nobody of it is left to be sent to. Some milliseconds
 * by chance after the next second is free: of several that wait each is first as often as the others.
 */
export async function nextTurn(manager: EntityManager, campaignId: string): Promise<Date | null> {
  const [next] = await manager.query<{ at: Date }[]>(
    `SELECT date_trunc('milliseconds', interval '1 millisecond' +
              greatest(clock_timestamp(), min(retry_at), free_at + random() * interval '20 ms')) AS at
     FROM campaign_pace, campaign_recipient
     WHERE campaign_id = $1 AND state IN ('SENDING', 'PENDING')
     GROUP BY free_at`,
    [campaignId],
  );
  return next?.at ?? null;
}
