import { lateFor, money } from '../../../ui/written.js';
import type { Happening } from '../../feed/feed.js';
import type { Words } from '../words/words.js';

/** What happened, in a word or two: `order.remind cancelled`. */
export function said(words: Words, { what, delay, amount, detail }: Happening): string {
  const text = words.happened[what];
  if (what.startsWith('delay.')) return `${delay} ${text}`;
  if (what === 'order.rated') return `${text} · ${words.stars(amount ?? 0)}`;
  if (what === 'message.sent') return `${text} · ${words.kinds[detail ?? ''] ?? detail}`;
  return text;
}

/** Its details, the shortest last. */
export function factsOf(words: Words, happening: Happening): string[] {
  const { what, amount, detail, lateMs, by, stock } = happening;
  const facts: string[] = [];
  if (what.startsWith('payment.')) facts.push(money(words, amount ?? 0));
  const hasReason = what === 'order.closed' || what === 'dispute.opened';
  if (hasReason && detail) facts.push(words.reasons[detail] ?? detail);
  if (lateMs !== null) facts.push(unbroken(words.lateBy(lateFor(words, lateMs))));
  if (by !== null && !what.startsWith('process.')) facts.push(by);
  if (stock !== null) facts.push(unbroken(words.stockBy(stock > 0 ? `+${stock}` : `−${-stock}`)));
  return facts;
}

/** Short enough to stay on one line. */
const unbroken = (text: string): string => text.replaceAll(' ', '\u00a0');
