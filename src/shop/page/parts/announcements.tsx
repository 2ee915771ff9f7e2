import { effect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { announce, Announcer } from '../../../ui/announcer.js';
import type { OrderCard } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import { visit } from '../shop/visit.js';
import type { Words } from '../words/words.js';
import { words } from '../words/language.js';

/**
 * Announces what happens to orders that were placed here, and to the processes. Not the hundreds of
 * other orders, and no countdown.
 */
export function Announcements() {
  useEffect(startListening, []);
  return (
    <>
      <Announcer />
      <p class="unseen" role="alert">
        <Alarm />
      </p>
    </>
  );
}

function Alarm() {
  const strip = known.invariants.value;
  if (!strip || strip.ok) return null;
  const broken = strip.checks.filter(({ ok }) => !ok).length;
  return <>{words.value.invariantsBroken(broken, strip.checks.length)}</>;
}

function startListening(): () => void {
  const facts = new Map<string, string>();
  return effect(() => {
    const told = [...ordersOf(words.value), ...processesOf(words.value)];
    for (const [about, text] of told) {
      const isNews = facts.has(about) ? facts.get(about) !== text : about.startsWith('order');
      if (isNews) announce(text);
      facts.set(about, text);
    }
  });
}

function ordersOf(said: Words): [about: string, text: string][] {
  const placed = visit.placed.value;
  return known.orders.value
    .filter(({ id }) => placed.has(id))
    .map((card) => [`order ${card.id}`, newsOf(said, card)]);
}

function newsOf({ said, states }: Words, { no, status, review, payments }: OrderCard): string {
  if (review) return said.rated(no, review.stars);
  if (payments.some((payment) => payment.status === 'REFUNDED')) return said.refunded(no);
  return status === 'UNPAID' ? said.placed(no) : said.moved(no, states[status]);
}

function processesOf({ said }: Words): [about: string, text: string][] {
  return known.processes.value
    .filter(({ state }) => state !== 'starting')
    .map(({ name, state }) => [
      `process ${name}`,
      state === 'up' ? said.started(name) : said.died(name),
    ]);
}
