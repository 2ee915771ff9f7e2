import { known } from '../feed/known.js';
import { visit } from '../shop/visit.js';
import { words } from '../words/language.js';

/** Links to an order that was just placed, once the feed has it. */
export function PlacedLine({ orderId }: { orderId: string | null }) {
  const card = known.orders.value.find(({ id }) => id === orderId);
  if (!card) return null;
  return (
    <a
      class="placed"
      href={`#order-${card.no}`}
      onClick={() => {
        visit.open.value = card.id;
      }}
    >
      {words.value.shownAs(card.no)}
    </a>
  );
}
