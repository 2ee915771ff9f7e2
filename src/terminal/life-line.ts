import { printable } from 'nestjs-delay-queue';
import type { Happening, What } from '../shop/feed/feed.js';

const DONE: Partial<Record<What, string>> = {
  'order.placed': 'placed',
  'order.reminded': 'reminded',
  'order.paid': 'paid',
  'order.shipped': 'shipped',
  'order.extended': 'has longer to confirm',
  'order.completed': 'completed',
  'order.rated': 'rated',
  'order.closed': 'closed',
  'message.sent': 'text message sent',
  'payment.unkept': 'paid too late or wrong, goes back',
  'payment.refunded': 'refunded',
  'dispute.opened': 'under dispute, its timers stand still',
  'dispute.released': 'released, its timers go on',
};

/** Like `#1001 closed, 14 ms late, stock +2, by shop-1`; `undefined`: nothing that a console tells. */
export function lifeLine({ no, what, amount, ...facts }: Happening): string | undefined {
  const done = DONE[what];
  if (done === undefined || no === null) return undefined;
  const line = [`#${no} ${done}`];
  if (what === 'order.placed' && facts.detail) line.push(printable(facts.detail));
  if (what === 'order.rated' && amount) line.push('*'.repeat(amount));
  if (what.startsWith('payment.') && amount !== null) line.push((amount / 100).toFixed(2));
  if (facts.lateMs !== null) line.push(`${Math.round(facts.lateMs)} ms late`);
  if (facts.stock !== null) line.push(`stock ${facts.stock > 0 ? '+' : ''}${facts.stock}`);
  if (facts.by !== null) line.push(`by ${printable(facts.by)}`);
  return line.join(', ');
}
