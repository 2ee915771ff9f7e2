/** A message of a campaign, as a provider gets it. `id` is its idempotency key: it is sent once. */
export interface CampaignMessage {
  id: string;
  campaignId: string;
  kind: 'campaign';
  recipient: string;
  text: string;
}
