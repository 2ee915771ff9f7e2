import type { EntityManager } from 'typeorm';
import type { CampaignView } from './campaigns.schemas.js';

const PAGE = 20;
const FAILURES = 20;

type Instant = 'at' | 'createdAt' | 'startedAt' | 'completedAt' | 'nextBatchAt' | 'serverNow';
type Row = Omit<CampaignView, Instant | 'messagesPerSecond'> & Record<Instant, Date | null>;
interface Wanted {
  id?: string | null;
  after?: string | null;
  most?: number;
}
export type CampaignRow = Omit<CampaignView, 'messagesPerSecond'>;

/** A page of campaigns with their progress, newest first; or the one with that id. */
export async function campaignRows(
  manager: EntityManager,
  { id = null, after = null, most = PAGE }: Wanted,
): Promise<CampaignRow[]> {
  const rows = await manager.query<Row[]>(
    `SELECT campaign.id::text, merchant_id AS merchant, state, message, send_at AS at, campaign.created_at AS "createdAt",
            started_at AS "startedAt", completed_at AS "completedAt", counts, failures,
            CASE WHEN leased_by IS NULL AND wake_at < 'infinity' THEN wake_at END AS "nextBatchAt",
            delay.last_error AS error, clock_timestamp() AS "serverNow"
     FROM campaign
     CROSS JOIN LATERAL (
       SELECT json_build_object(
                'total', count(*), 'pending', count(*) FILTER (WHERE state = 'PENDING'),
                'sending', count(*) FILTER (WHERE state = 'SENDING'),
                'sent', count(*) FILTER (WHERE state = 'SENT'),
                'failed', count(*) FILTER (WHERE state = 'FAILED')) AS counts
       FROM campaign_recipient WHERE campaign_id = campaign.id) AS recipients
     CROSS JOIN LATERAL (
       SELECT coalesce(json_agg(failed), '[]') AS failures
       FROM (SELECT recipient, error AS reason FROM campaign_recipient
             WHERE campaign_id = campaign.id AND state = 'FAILED'
             ORDER BY id LIMIT ${FAILURES}) AS failed) AS given_up
     LEFT JOIN delay_queue.delay ON delay.name = 'campaign.send' AND delay.key = campaign.id::text
     WHERE ($1::bigint IS NULL OR campaign.id = $1) AND ($2::bigint IS NULL OR campaign.id < $2)
     ORDER BY campaign.id DESC LIMIT $3`,
    [id, after, most],
  );
  return rows.map((row) => ({
    ...row,
    at: row.at!.toISOString(),
    createdAt: row.createdAt!.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    completedAt: row.completedAt?.toISOString() ?? null,
    nextBatchAt: row.nextBatchAt?.toISOString() ?? null,
    serverNow: row.serverNow!.toISOString(),
  }));
}
