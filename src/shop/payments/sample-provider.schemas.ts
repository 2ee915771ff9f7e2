import { z } from 'zod';
import { durationText } from '../shop.config.js';
import { REFUND_MOODS } from './sample-provider.entities.js';

const refunds = z.enum(REFUND_MOODS).meta({
  description: '`fail`: every attempt fails, and may be repeated. `refuse`: once and for all.',
});

export const providerMood = z
  .strictObject({
    refunds,
    for: durationText.optional().meta({
      example: '30s',
      description: 'How long until it works again; default: until it is changed',
    }),
  })
  .refine(({ refunds: mood, for: ms }) => mood !== 'work' || ms === undefined, {
    path: ['for'],
    error: 'makes no sense with refunds that work',
  });
export type ProviderMood = z.infer<typeof providerMood>;

export const providerView = z.object({
  refunds,
  until: z.string().nullable().meta({ format: 'date-time' }),
});
export type ProviderView = z.infer<typeof providerView>;
