import type { OrderCard } from '../../feed/feed.js';
import { request } from './request.js';

export type OrderDeed = 'pay' | 'cancel' | 'ship' | 'confirm' | 'extend' | 'release';
export type Race = 'pay-at-the-last-moment' | 'pay-after-the-close' | 'close-while-paid';

export interface Basket {
  items: { sku: string; quantity: number }[];
}

const at = (orderId: string, deed: string): string =>
  `/orders/${encodeURIComponent(orderId)}/${deed}`;

export const shop = {
  place: (basket: Basket): Promise<{ id: string }> =>
    request('POST', '/orders', { body: basket, key: newKey() }),
  order: (id: string): Promise<OrderCard> =>
    request('GET', `/feed/orders/${encodeURIComponent(id)}`),
  move: (orderId: string, deed: OrderDeed): Promise<unknown> => request('POST', at(orderId, deed)),
  review: (orderId: string, stars: number): Promise<unknown> =>
    request('POST', at(orderId, 'review'), { body: { stars } }),
  dispute: (orderId: string, reason: string): Promise<unknown> =>
    request('POST', at(orderId, 'dispute'), { body: { reason } }),
  race: (race: Race): Promise<{ orderId: string }> => request('POST', `/races/${race}`),
  kill: (process: string): Promise<unknown> =>
    request('POST', `/processes/${encodeURIComponent(process)}/kill`),
  campaign: (campaign: {
    merchant: string;
    at: string;
    message: string;
    recipients: string[];
  }): Promise<unknown> => request('POST', '/campaigns', { body: campaign, key: newKey() }),
  moveCampaign: (id: string, to: 'stop' | 'resume'): Promise<unknown> =>
    request('POST', `/campaigns/${encodeURIComponent(id)}/${to}`),
  remind: (merchant: string): Promise<unknown> =>
    request('POST', `/merchants/${encodeURIComponent(merchant)}/remind`),
  failRefunds: (forSeconds: number): Promise<{ until: string | null }> =>
    request('PUT', '/sample-provider', { body: { refunds: 'fail', for: `${forSeconds}s` } }),
};

/** Not `randomUUID`, which is missing on a page from another machine over plain HTTP. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
