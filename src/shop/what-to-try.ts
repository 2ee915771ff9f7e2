import ms from 'ms';
import type { ShopSettings } from './shop.config.js';

/** What the demo prints when it listens: lines that can be pasted into a shell as they are. */
export function whatToTry(
  shop: ShopSettings & { databaseUrl: string; env: NodeJS.ProcessEnv },
): string {
  const anywhere = shop.host === '0.0.0.0' || shop.host === '::';
  const host = anywhere ? 'localhost' : shop.host.includes(':') ? `[${shop.host}]` : shop.host;
  const [pay, confirm, rate] = [shop.payWithinMs, shop.confirmAfterMs, shop.rateAfterMs].map((it) =>
    ms(it),
  );
  // A DATABASE_URL of the user's own is in their shell already, and may hold a password.
  const database = shop.env.DATABASE_URL ? '' : `DATABASE_URL='${shop.databaseUrl}' `;
  return `
The shop listens. An order closes by itself after ${pay} unless it is paid; a shipped one
confirms itself after ${confirm}, and a completed one gets five stars after ${rate}.

  SHOP=http://${host}:${shop.port}
  curl -s $SHOP/skus; echo

Place an order, and look at it until it has closed and its stock is back:

  ID=$(curl -s $SHOP/orders -H 'content-type: application/json' -d '{"items":[{"sku":"CUP-WHITE","quantity":2}]}' | cut -d'"' -f4); echo $ID
  curl -s $SHOP/orders/$ID; echo

What its buyer was told, the newest first:

  curl -s "$SHOP/messages?orderId=$ID"; echo

Pay after the close, and see the refund; or place another one, pay in time and ship:

  curl -s $SHOP/payments/callback -H 'content-type: application/json' -d '{"orderId":"'$ID'","provider":"sample","transaction":"'$ID'","amount":2500}'; echo
  curl -s -X POST $SHOP/orders/$ID/pay; echo
  curl -s -X POST $SHOP/orders/$ID/ship; echo

What must always hold, and a page with all there is:

  curl -s $SHOP/invariants; echo
  http://${host}:${shop.port}/docs

A second shop on the same database, in another terminal:

  ${database}PORT=${shop.port + 1} node dist/src/main.js

Ctrl+C stops the shop; what is due meanwhile happens at the next start.
`;
}
