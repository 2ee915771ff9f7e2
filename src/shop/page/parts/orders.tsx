import { signal } from '@preact/signals';
import { Panel } from '../../../ui/panel.js';
import { ORDERS_MAX } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import { ownOrders, visit } from '../shop/visit.js';
import { words } from '../words/language.js';
import { OrderRow } from './order-row.js';

/** How many fit beside the other panels. */
const FEW = 10;
const showsAll = signal(false);

export function Orders() {
  const orders = known.orders.value;
  const { orders: title, ordersNote, noOrders, noOrdersHint } = words.value;
  const open = visit.open.value === undefined ? orders[0]?.id : visit.open.value;
  const shown = showsAll.value
    ? orders
    : orders.filter(({ id }, at) => at < FEW || ownOrders.value.has(id));
  return (
    <Panel
      id="orders"
      title={title}
      note={orders.length > 0 ? ordersNote(Math.min(orders.length, ORDERS_MAX)) : undefined}
    >
      {orders.length === 0 ? (
        <div class="empty">
          <b>{noOrders}</b>
          <p>{noOrdersHint}</p>
        </div>
      ) : (
        <>
          <ol class="order-list">
            {shown.map((card) => (
              <OrderRow key={card.id} card={card} isOpen={card.id === open} />
            ))}
          </ol>
          {orders.length > FEW && <ShowAll n={orders.length} />}
        </>
      )}
    </Panel>
  );
}

function ShowAll({ n }: { n: number }) {
  const { showAll, showFewer } = words.value;
  return (
    <button
      type="button"
      class="button show-all"
      aria-expanded={showsAll.value}
      onClick={() => {
        showsAll.value = !showsAll.value;
      }}
    >
      {showsAll.value ? showFewer : showAll(n)}
    </button>
  );
}
