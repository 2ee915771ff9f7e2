import { printable } from 'nestjs-delay-queue';
import type { Happening, What } from '../shop/feed/feed.js';

const DONE: Partial<Record<What, string>> = {
  'order.placed': 'placed',
  'order.reminded': 'reminded',
  'order.paid': 'paid',
  'order.shipped': 'shipped',
  'order.extended': 'confirmation extended',
  'order.completed': 'completed',
  'order.rated': 'rated',
  'order.closed': 'closed',
  'message.sent': 'text message sent',
  'payment.unkept': 'paid too late or wrongly, to be refunded',
  'payment.refunded': 'refunded',
  'dispute.opened': 'under dispute, timers paused',
  'dispute.released': 'dispute released, timers resumed',
};

/** Such as `#1001 closed, 14 ms late, stock +2, by shop-1`; `undefined`: not printed. */
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
