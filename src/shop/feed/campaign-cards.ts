import type { EntityManager } from 'typeorm';
import type { CampaignCard } from './feed.js';
import { CAMPAIGNS } from './feed.sql.js';

type Instant = 'at' | 'completedAt' | 'nextBatchAt';
type Row = Omit<CampaignCard, Instant> & Record<Instant, Date | null>;

/** The newest campaign first. */
export async function campaignCards(manager: EntityManager, most: number): Promise<CampaignCard[]> {
  const rows = await manager.query<Row[]>(CAMPAIGNS, [most]);
  return rows.map((row) => ({
    ...row,
    at: row.at!.toISOString(),
    completedAt: row.completedAt?.toISOString() ?? null,
    nextBatchAt: row.nextBatchAt?.toISOString() ?? null,
  }));
}
