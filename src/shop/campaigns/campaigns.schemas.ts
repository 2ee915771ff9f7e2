import { z } from 'zod';
import { MERCHANT_ID } from '../merchants/merchants.schemas.js';
import { CAMPAIGN_STATES } from './campaign.entity.js';

const MESSAGE_MAX = 500;
const RECIPIENTS_MAX = 10_000;
const BIGINT_DIGITS_MAX = 18;

const instant = z.string().meta({ format: 'date-time', example: '2026-11-20T12:30:00.000Z' });

/** A telephone number, or any other address that the provider knows. */
const RECIPIENT = /^[\x21-\x7e]{1,64}$/;

/**
 * Each recipient once, in the given order. Not an array of checked texts, which would report every
 * invalid one, and there may be a million.
 */
const recipients = z
  .array(z.unknown().meta({ type: 'string', example: '+8613800000001' }))
  .min(1)
  .max(RECIPIENTS_MAX)
  .transform((given, context) => {
    const bad = given.findIndex((it) => typeof it !== 'string' || !RECIPIENT.test(it));
    if (bad === -1) return [...new Set(given as string[])];
    const message = 'must be 1 to 64 printable ASCII characters without spaces';
    context.addIssue({ code: 'custom', path: [bad], message });
    return z.NEVER;
  });

export const createCampaign = z.strictObject({
  merchant: z
    .string()
    .regex(MERCHANT_ID, 'is unknown; see GET /merchants')
    .default('tea-house')
    .meta({ description: 'The merchant of the campaign' }),
  at: z.iso
    .datetime({ offset: true, error: 'must be an instant like 2026-11-20T12:30:00Z' })
    .transform((text) => new Date(text))
    .meta({ description: 'When it begins: at most a year ahead' }),
  message: z
    .string()
    .trim()
    .regex(new RegExp(`^(?:[^\\p{Cc}\\p{Cs}]|\\n){1,${MESSAGE_MAX}}$`, 'u'), {
      error: `must be 1 to ${MESSAGE_MAX} characters, and no other control character than a line break`,
    })
    .meta({ example: 'New teas have arrived' }),
  recipients: recipients.meta({
    description: `Up to ${RECIPIENTS_MAX}; duplicates count once`,
  }),
});
export type CreateCampaign = z.infer<typeof createCampaign>;

export const campaignId = z
  .string()
  // No leading zero: the id is also the key of a delay, and must have one spelling.
  .regex(new RegExp(`^[1-9][0-9]{0,${BIGINT_DIGITS_MAX - 1}}$`), 'must be the id of a campaign');

export const campaignsQuery = z.strictObject({
  after: campaignId.optional().meta({ description: 'The page that follows this campaign' }),
});
export type CampaignsQuery = z.infer<typeof campaignsQuery>;

const count = z.int().min(0);

export const campaignView = z.object({
  id: z.string(),
  merchant: z.string(),
  state: z.enum(CAMPAIGN_STATES).meta({ description: 'COMPLETED even if some recipients failed' }),
  message: z.string(),
  at: instant.meta({ description: 'When it begins' }),
  createdAt: instant,
  startedAt: instant.nullable(),
  completedAt: instant.nullable(),
  counts: z
    .object({ total: count, pending: count, sending: count, sent: count, failed: count })
    .meta({ description: 'Recipients: sending ones are with the provider now' }),
  failures: z
    .array(z.object({ recipient: z.string(), reason: z.string() }))
    .meta({ description: 'The first 20 that were given up' }),
  nextBatchAt: instant.nullable().meta({
    description:
      'When its `campaign.send` is due; `null` while a batch is being sent, or none follows',
  }),
  error: z
    .string()
    .nullable()
    .meta({ description: 'Why the last batch as a whole could not be sent; it is tried again' }),
  messagesPerSecond: count.meta({
    description: 'At most, of all campaigns of its merchant together',
  }),
  serverNow: instant,
});
export type CampaignView = z.infer<typeof campaignView>;

export const campaignList = z.array(campaignView);
