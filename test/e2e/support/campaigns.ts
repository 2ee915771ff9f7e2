import { campaignView, type CampaignView } from '../../../src/shop/campaigns/campaigns.schemas.js';
import { until } from '../../support/until.js';
import type { RunningShop } from './running-shop.js';

/** A new campaign that begins after so long. */
export async function campaign(
  shop: RunningShop,
  recipients: string[],
  { inMs = 0, message = 'New teas have arrived', merchant = 'tea-house' } = {},
): Promise<CampaignView> {
  const at = new Date(Date.now() + inMs).toISOString();
  const { status, body } = await shop.post('/campaigns', { merchant, at, message, recipients });
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return campaignView.parse(body);
}

export const progressOf = async (shop: RunningShop, id: string): Promise<CampaignView> =>
  campaignView.parse((await shop.get(`/campaigns/${id}`)).body);

export const campaignWhen = (
  shop: RunningShop,
  id: string,
  accept: (campaign: CampaignView) => boolean,
): Promise<CampaignView> => until(() => progressOf(shop, id), accept);

export const isCompleted = ({ state }: CampaignView): boolean => state === 'COMPLETED';

/** Whom the sample's provider has delivered it to, in any order. */
export async function reached(shop: RunningShop, id: string): Promise<string[]> {
  const rows = await shop.sql<{ recipient: string }[]>(
    `SELECT recipient FROM sample_campaign_message WHERE campaign_id = $1`,
    [id],
  );
  return rows.map(({ recipient }) => recipient).toSorted();
}

/** `p-01` to `p-<count>`. */
export const people = (count: number, family = 'p'): string[] =>
  Array.from({ length: count }, (_, index) => `${family}-${String(index + 1).padStart(2, '0')}`);
