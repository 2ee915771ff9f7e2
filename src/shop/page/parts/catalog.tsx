import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ActionButton } from '../../../ui/action-button.js';
import { useDeed } from '../../../ui/deed.js';
import { Icon } from '../../../ui/icon.js';
import { Meter } from '../../../ui/meter.js';
import { Panel } from '../../../ui/panel.js';
import { count, money } from '../../../ui/written.js';
import type { SkuCard } from '../../feed/feed.js';
import { known } from '../feed/known.js';
import type { Problem } from '../shop/request.js';
import { shop } from '../shop/shop.js';
import { hasPlaced } from '../shop/visit.js';
import { words } from '../words/language.js';
import { PlacedLine } from './placed-line.js';
import { ProblemLine } from './problem-line.js';

const QUANTITY_MAX = 99;

/** Quantities of the next order, by SKU. */
const basket = signal<Record<string, number>>({ 'CUP-WHITE': 2 });
const quantityOf = (sku: string): number => basket.value[sku] ?? 0;

export function Catalog() {
  const deed = useDeed<Problem>();
  const placed = usePlaced();
  const { shelf, place, placing, emptyBasket } = words.value;
  const skus = known.skus.value;
  const items = skus
    .map(({ sku }) => ({ sku, quantity: quantityOf(sku) }))
    .filter(({ quantity }) => quantity > 0);
  const total = skus.reduce((sum, { sku, price }) => sum + price * quantityOf(sku), 0);
  return (
    <Panel id="stock" title={shelf}>
      <ul class="skus">
        {skus.map((card) => (
          <Sku key={card.sku} card={card} />
        ))}
      </ul>
      <div class="checkout">
        <p class="total">
          {total > 0 ? <b class="figure">{money(words.value, total)}</b> : emptyBasket}
        </p>
        <PlacedLine orderId={placed.id.value} />
        <ActionButton
          deed={deed}
          name="place"
          look="primary"
          off={items.length === 0}
          ask={async () => {
            const { id } = await shop.place({ items });
            placed.id.value = id;
            hasPlaced(id);
          }}
        >
          {deed.busy.value ? placing : place}
        </ActionButton>
      </div>
      <ProblemLine deed={deed} />
    </Panel>
  );
}

const lastPlaced = signal<string | null>(null);

/** The line about the last order disappears with the panel. */
function usePlaced() {
  useEffect(() => () => void (lastPlaced.value = null), []);
  return { id: lastPlaced };
}

function Sku({ card: { sku, name, price, stock, initialStock } }: { card: SkuCard }) {
  const said = words.value;
  const quantity = quantityOf(sku);
  const named = said.goods[sku] ?? name;
  const change = (by: number): void => {
    const next = Math.min(QUANTITY_MAX, Math.max(0, quantity + by));
    basket.value = { ...basket.value, [sku]: next };
  };
  return (
    <li class={`sku ${quantity > 0 ? 'chosen' : ''}`}>
      <span class="sku-name">{named}</span>
      <span class="sku-price figure">{money(said, price)}</span>
      <span class="sku-stock">
        <span class="figure">{said.inStock(count(said, stock), count(said, initialStock))}</span>
        <Meter of={initialStock === 0 ? 0 : stock / initialStock} />
      </span>
      <span class="stepper" role="group" aria-label={said.quantityOf(named)}>
        <button
          type="button"
          aria-label={said.oneFewer(named)}
          aria-disabled={quantity === 0}
          onClick={() => change(-1)}
        >
          <Icon name="minus" />
        </button>
        <output class="figure">{quantity}</output>
        <button
          type="button"
          aria-label={said.oneMore(named)}
          aria-disabled={quantity === QUANTITY_MAX}
          onClick={() => change(1)}
        >
          <Icon name="plus" />
        </button>
      </span>
    </li>
  );
}
