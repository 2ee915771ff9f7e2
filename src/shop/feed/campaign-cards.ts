import type { EntityManager } from 'typeorm';
import { campaignRows } from '../campaigns/campaign-rows.js';
import type { CampaignCard } from './feed.js';

/** The newest campaign first. */
export async function campaignCards(manager: EntityManager, most: number): Promise<CampaignCard[]> {
  const rows = await campaignRows(manager, { most });
  return rows.map(({ id, merchant, state, message, at, completedAt, nextBatchAt, counts }) => ({
    id,
    merchant,
    state,
    message,
    at,
    completedAt,
    nextBatchAt,
    counts,
  }));
}
