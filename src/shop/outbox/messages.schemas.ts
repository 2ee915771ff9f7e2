import { z } from 'zod';
import { orderId } from '../orders/order-id.pipe.js';
import { NEWS } from './news.js';

export const MESSAGE_STATES = ['WAITING', 'SENT', 'DROPPED', 'FAILED'] as const;

const BIGINT_DIGITS_MAX = 18;
const instant = z.string().meta({ format: 'date-time' });

export const messageId = z
  .string()
  // No leading zero: the id is also the key of a delay, and must have one spelling.
  .regex(new RegExp(`^[1-9][0-9]{0,${BIGINT_DIGITS_MAX - 1}}$`), 'must be the id of a message');

export const messagesQuery = z.strictObject({
  orderId: orderId.optional().meta({ description: 'Only those of one order' }),
  after: messageId.optional().meta({ description: 'The page that follows this message' }),
});
export type MessagesQuery = z.infer<typeof messagesQuery>;

export const messageView = z.object({
  id: z.string(),
  orderId: z.string(),
  kind: z.enum(NEWS),
  text: z.string(),
  state: z.enum(MESSAGE_STATES).meta({
    description:
      'DROPPED: it no longer made sense. FAILED: no further attempt is made automatically.',
  }),
  attempts: z.int().meta({ description: 'Attempts begun, while it waits or has failed' }),
  error: z.string().nullable().meta({ description: 'Why the last attempt failed' }),
  createdAt: instant,
  sentAt: instant.nullable(),
});
export type MessageView = z.infer<typeof messageView>;

export const messageList = z.array(messageView);
