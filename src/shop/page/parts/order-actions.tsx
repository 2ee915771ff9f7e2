import { useLayoutEffect, useRef } from 'preact/hooks';
import { ActionButton } from '../../../ui/action-button.js';
import { useDeed, type Deed } from '../../../ui/deed.js';
import type { OrderCard } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import type { Problem } from '../shop/request.js';
import { shop, type OrderDeed } from '../shop/shop.js';
import { words } from '../words/language.js';
import { ProblemLine } from './problem-line.js';

export function OrderActions({ card }: { card: OrderCard }) {
  const deed = useDeed<Problem>();
  const place = useKeptFocus(`${card.status} ${card.dispute !== null} ${card.review !== null}`);
  return (
    <div class="order-actions" ref={place}>
      <div class="buttons" role="group" aria-label={words.value.actionsOf(card.no)}>
        {card.dispute ? <Move {...{ card, deed }} to="release" /> : <Moves {...{ card, deed }} />}
      </div>
      <ProblemLine deed={deed} />
    </div>
  );
}

function Moves({ card, deed }: { card: OrderCard; deed: Deed<Problem> }) {
  const { orWait, orWaitRate } = words.value;
  const its = { card, deed };
  if (card.status === 'UNPAID') {
    return (
      <>
        <span class="note or">{orWait}</span>
        <Move key="cancel" {...its} to="cancel" />
        {known.can.value?.pay && <Move key="pay" {...its} to="pay" look="primary" />}
      </>
    );
  }
  if (card.status === 'PAID') {
    return (
      <>
        <Dispute key="dispute" {...its} />
        <Move key="ship" {...its} to="ship" />
      </>
    );
  }
  if (card.status === 'SHIPPED') {
    return (
      <>
        <Dispute key="dispute" {...its} />
        {!card.extended && <Move key="extend" {...its} to="extend" />}
        <Move key="confirm" {...its} to="confirm" />
      </>
    );
  }
  if (card.status !== 'COMPLETED' || card.review) return null;
  return (
    <>
      <span class="note or">{orWaitRate}</span>
      <Rate {...its} />
    </>
  );
}

interface MoveProps {
  card: OrderCard;
  deed: Deed<Problem>;
  to: OrderDeed;
  look?: 'primary' | 'plain';
}

function Move({ card, deed, to, look = 'plain' }: MoveProps) {
  return (
    <ActionButton deed={deed} name={to} look={look} ask={() => shop.move(card.id, to)}>
      {words.value[to]}
    </ActionButton>
  );
}

function Dispute({ card, deed }: { card: OrderCard; deed: Deed<Problem> }) {
  const { dispute, disputeReason } = words.value;
  return (
    <ActionButton deed={deed} name="dispute" ask={() => shop.dispute(card.id, disputeReason)}>
      {dispute}
    </ActionButton>
  );
}

function Rate({ card, deed }: { card: OrderCard; deed: Deed<Problem> }) {
  const { rate, stars } = words.value;
  return (
    <span class="rate" role="group" aria-label={rate}>
      {[1, 2, 3, 4, 5].map((n) => (
        <ActionButton
          key={n}
          deed={deed}
          name={`rate ${n}`}
          label={stars(n)}
          ask={() => shop.review(card.id, n)}
        >
          ★
        </ActionButton>
      ))}
    </span>
  );
}

/**
 * A pressed button disappears when the order moves on: focus goes to the next one, not to the top.
 */
function useKeptFocus(state: string) {
  const place = useRef<HTMLDivElement>(null);
  const last = useRef<Element | null>(null);
  useLayoutEffect(() => {
    const its = place.current!;
    const keep = ({ target }: FocusEvent): void => {
      last.current = target as Element;
    };
    const forget = ({ relatedTarget }: FocusEvent): void => {
      if (relatedTarget !== null) last.current = null;
    };
    its.addEventListener('focusin', keep);
    its.addEventListener('focusout', forget);
    return () => {
      its.removeEventListener('focusin', keep);
      its.removeEventListener('focusout', forget);
    };
  }, []);
  useLayoutEffect(() => {
    if (last.current === null || last.current.isConnected) return;
    last.current = null;
    if (document.activeElement !== document.body) return;
    const next = [...(place.current?.querySelectorAll('button') ?? [])].at(-1);
    const toggle = place.current?.closest('.order')?.querySelector<HTMLElement>('.order-toggle');
    (next ?? toggle)?.focus();
  }, [state]);
  return place;
}
