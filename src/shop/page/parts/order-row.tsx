import { Icon } from '../../../ui/icon.js';
import { money } from '../../../ui/written.js';
import type { OrderCard } from '../../feed/feed.js';
import { visit } from '../shop/visit.js';
import { words } from '../words/language.js';
import { OrderActions } from './order-actions.js';
import { OrderDetails } from './order-details.js';
import { OrderNext } from './order-next.js';

interface OrderRowProps {
  card: OrderCard;
  isOpen: boolean;
}

/** Rendered again only for news of this order: a component that reads a signal keeps its output. */
export function OrderRow({ card, isOpen }: OrderRowProps) {
  const { detailsOf } = words.value;
  return (
    <li class={`order ${card.status.toLowerCase()}`} id={`order-${card.no}`} tabIndex={-1}>
      <div class="order-head">
        <button
          type="button"
          class="order-toggle"
          aria-expanded={isOpen}
          aria-controls={`details-${card.no}`}
          aria-label={detailsOf(card.no)}
          onClick={() => {
            visit.open.value = isOpen ? null : card.id;
          }}
        >
          <Icon name="down" />
          <span class="figure">#{card.no}</span>
        </button>
        <div class="order-facts">
          <p class="order-what">
            <Pills card={card} />
            <span class="order-items">
              {basketOf(card)} <span class="figure">{money(words.value, card.total)}</span>
            </span>
          </p>
          <OrderNext card={card} />
        </div>
        <OrderActions card={card} />
      </div>
      <div id={`details-${card.no}`} class="order-details" hidden={!isOpen}>
        {isOpen && <OrderDetails card={card} />}
      </div>
    </li>
  );
}

const basketOf = ({ items }: OrderCard): string =>
  items
    .map(({ sku, name, quantity }) => `${quantity} × ${words.value.goods[sku] ?? name}`)
    .join(' · ');

function Pills({ card: { status, dispute, payments } }: { card: OrderCard }) {
  const said = words.value;
  const back = payments.filter((payment) => payment.status === 'REFUNDED');
  const amount = back.reduce((sum, payment) => sum + payment.amount, 0);
  const isPending = payments.some((payment) => payment.status === 'REFUND_PENDING');
  return (
    <>
      <span class={`pill ${status.toLowerCase()}`}>{said.states[status]}</span>
      {dispute && <span class="pill disputed">{said.disputed}</span>}
      {isPending && <span class="pill pending">{said.refundPending}</span>}
      {amount > 0 && <span class="pill refunded">{said.refunded(money(said, amount))}</span>}
    </>
  );
}
