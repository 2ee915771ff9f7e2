import { z } from 'zod';
import { durationText } from '../shop.config.js';
import { TIME_ZONES } from './time-zones.js';

/** An invalid id belongs to no merchant. */
export const MERCHANT_ID = /^[\w.-]{1,64}$/;

const ownDuration = durationText.nullable().optional();
const ownMessage = z
  .union([z.literal('off').transform(() => 0), durationText])
  .nullable()
  .optional();

/** An omitted field stays as it is; `null` restores the shop's default. */
export const changeMerchant = z.strictObject({
  payWithin: ownDuration.meta({ example: '15m' }),
  remindBefore: ownMessage.meta({ example: '5m', description: '`off`: no reminder' }),
  smsAfter: ownMessage.meta({ example: 'off', description: '`off`: no text message' }),
  confirmAfter: ownDuration.meta({ example: '7d' }),
  rateAfter: ownDuration.meta({ example: '48h' }),
  timeZone: z
    .enum(TIME_ZONES)
    .optional()
    .meta({ description: 'At nine there, it is reminded of orders that wait to be shipped' }),
});
export type ChangeMerchant = z.infer<typeof changeMerchant>;

const ms = z.int().meta({ description: 'Milliseconds', example: 900_000 });

export const terms = z.object({
  payWithinMs: ms,
  remindBeforeMs: ms.nullable(),
  smsAfterMs: ms.nullable(),
  confirmAfterMs: ms,
  rateAfterMs: ms,
});

const instant = z.string().meta({ format: 'date-time' });

/** The reminder of one morning. */
const reminder = z.object({
  at: instant,
  orders: z.int().meta({ description: 'Paid, and waiting to be shipped' }),
  oldestPaidAt: instant,
});

export const merchantView = z.object({
  id: z.string(),
  name: z.string(),
  terms: terms.meta({ description: 'Of an order that is placed now; `null`: no such message' }),
  own: z.array(terms.keyof()).meta({ description: 'Those that override the defaults of the shop' }),
  skus: z.array(z.string()).meta({ description: 'What it sells' }),
  timeZone: z.string(),
  nextReminderAt: instant
    .nullable()
    .meta({ description: 'Nine in its time zone; `null` while merchants there are reminded' }),
  lastReminder: reminder.nullable(),
});
export type MerchantView = z.infer<typeof merchantView>;

export const merchantList = z.array(merchantView);
