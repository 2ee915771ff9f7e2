import { lateFor, left } from '../../../ui/written.js';
import type { OrderCard } from '../../feed/feed.js';
import type { Words } from '../words/words.js';
import { words } from '../words/language.js';
import { Countdown } from './countdown.js';

/** The order's next deadline, or how it ended. */
export function OrderNext({ card }: { card: OrderCard }) {
  const said = words.value;
  const { status, dispute, review } = card;
  if (dispute) return <p class="next">{frozenFor(said, dispute.frozen)}</p>;
  const wait = waitOf(said, card);
  if (wait) {
    return (
      <p class="next">
        <Countdown {...wait} from={startOf(card)} />
      </p>
    );
  }
  if (review) return <Stars stars={review.stars} source={review.source} />;
  return (
    <>
      <p class="next done">{status === 'CLOSED' ? closing(said, card) : said.paidWaits}</p>
      <FailedRefund card={card} />
    </>
  );
}

/** A refund that waits for its next attempt, and why the last one failed. */
function FailedRefund({ card: { delays } }: { card: OrderCard }) {
  const { refundFailed, nextAttemptIn, delayState } = words.value;
  const refund = delays.find(
    ({ name, endedAt, error }) => name === 'payment.refund' && endedAt === null && error !== null,
  );
  if (!refund) return null;
  const { nextAt, dueAt, attempts, error, state } = refund;
  return (
    <p class="next failed">
      {refundFailed(attempts)} · {error}
      {nextAt !== null && (
        <>
          {' · '}
          <Countdown from={dueAt} until={nextAt} say={nextAttemptIn} over={delayState[state]} />
        </>
      )}
    </p>
  );
}

function waitOf(said: Words, { status, payDeadline, autoConfirmAt, delays, review }: OrderCard) {
  if (status === 'UNPAID') return { until: payDeadline, say: said.closesIn, over: said.closing };
  if (status === 'SHIPPED' && autoConfirmAt) {
    return { until: autoConfirmAt, say: said.confirmsIn, over: said.confirming };
  }
  const rate = delays.find(({ name, endedAt }) => name === 'order.rate' && endedAt === null);
  if (status !== 'COMPLETED' || review || !rate) return undefined;
  return { until: rate.dueAt, say: said.ratesIn, over: said.rating };
}

/** When the present wait began. */
function startOf({ timeline, placedAt }: OrderCard): string {
  const begins = [
    'order.placed',
    'order.shipped',
    'order.extended',
    'order.completed',
    'dispute.released',
  ];
  return timeline.findLast(({ what }) => begins.includes(what))?.at ?? placedAt;
}

function frozenFor(said: Words, frozen: { leftMs: number }[]): string {
  if (frozen.length === 0) return said.frozen;
  return said.frozenWith(left(said, Math.min(...frozen.map(({ leftMs }) => leftMs))));
}

function closing(said: Words, { closeReason, timeline }: OrderCard): string {
  const closed = timeline.find(({ what }) => what === 'order.closed');
  const facts = [said.reasons[closeReason ?? ''] ?? closeReason ?? ''];
  if (closed && closed.lateMs !== null) facts.push(said.lateBy(lateFor(said, closed.lateMs)));
  if (closed?.by) facts.push(closed.by);
  if (timeline.some(({ what }) => what === 'payment.broken')) {
    facts.push(said.happened['payment.broken']);
  }
  return facts.join(' · ');
}

function Stars({ stars, source }: { stars: number; source: 'buyer' | 'automatic' }) {
  const said = words.value;
  return (
    <p class="next done">
      <span class="stars" role="img" aria-label={said.stars(stars)}>
        {'★'.repeat(stars)}
        <span class="unlit">{'★'.repeat(5 - stars)}</span>
      </span>{' '}
      {source === 'automatic' ? said.byItself : said.byBuyer}
    </p>
  );
}
