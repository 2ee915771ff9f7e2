import type { MessageView } from '../../../src/shop/outbox/messages.schemas.js';
import { until } from '../../support/until.js';
import type { RunningShop } from './running-shop.js';

/** What the buyer of an order was told, newest first. */
export const messagesOf = async (shop: RunningShop, orderId: string): Promise<MessageView[]> =>
  (await shop.get(`/messages?orderId=${orderId}`)).body;

/** The message of that kind, once it is in that state. */
export async function messageWhen(
  shop: RunningShop,
  orderId: string,
  kind: string,
  accept: (message: MessageView) => boolean,
): Promise<MessageView> {
  const find = async () =>
    (await messagesOf(shop, orderId)).find((message) => message.kind === kind);
  const found = await until(find, (message) => message !== undefined && accept(message));
  return found!;
}

export const isSent = ({ state }: MessageView): boolean => state === 'SENT';
