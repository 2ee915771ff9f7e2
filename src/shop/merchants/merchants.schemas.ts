import { z } from 'zod';
import { durationText } from '../shop.config.js';

const ownDuration = durationText.nullable().optional();
const ownMessage = z
  .union([z.literal('off').transform(() => 0), durationText])
  .nullable()
  .optional();

/** What is left out stays as it is; `null` takes the shop's own again. */
export const changeTerms = z.strictObject({
  payWithin: ownDuration.meta({ example: '15m' }),
  remindBefore: ownMessage.meta({ example: '5m', description: '`off`: nobody is reminded' }),
  smsAfter: ownMessage.meta({ example: 'off', description: '`off`: no text message' }),
  confirmAfter: ownDuration.meta({ example: '7d' }),
  rateAfter: ownDuration.meta({ example: '48h' }),
});
export type ChangeTerms = z.infer<typeof changeTerms>;

const ms = z.int().meta({ description: 'Milliseconds', example: 900_000 });

export const terms = z.object({
  payWithinMs: ms,
  remindBeforeMs: ms.nullable(),
  smsAfterMs: ms.nullable(),
  confirmAfterMs: ms,
  rateAfterMs: ms,
});

export const merchantView = z.object({
  id: z.string(),
  name: z.string(),
  terms: terms.meta({ description: 'Of an order that is placed now; `null`: no such message' }),
  own: z
    .array(terms.keyof())
    .meta({ description: 'Which of them are not the defaults of the shop' }),
  skus: z.array(z.string()).meta({ description: 'What it sells' }),
});
export type MerchantView = z.infer<typeof merchantView>;

export const merchantList = z.array(merchantView);
