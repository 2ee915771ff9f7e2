import ms from 'ms';
import { urlOf } from '../processes/port.js';
import type { ListenConfig, ShopConfig } from '../shop/shop.config.js';
import type { Terminal } from './terminal.js';

/** Printed when the shop is open: where the page is, how to stop, and what to expect. */
export function greet(
  terminal: Terminal,
  shop: ShopConfig & ListenConfig,
  names: readonly string[],
): void {
  const url = urlOf(shop);
  const [pay, confirm, rate] = [shop.payWithinMs, shop.confirmAfterMs, shop.rateAfterMs].map((it) =>
    ms(it),
  );
  terminal.print();
  terminal.print(`  The shop is open:  ${terminal.styled('bold', url)}`);
  terminal.print(`  Ctrl+C stops it. What falls due meanwhile happens at the next start.`);
  terminal.print();
  const facts = [
    `${names.join(' and ')} share one Postgres. An order closes after ${pay} unless it is paid,`,
    `a shipped one confirms itself after ${confirm}, a completed one gets five stars after ${rate}.`,
    ...(shop.demo ? [`What waits, what ran late, and why: ${url}/delays`] : []),
    `The API: ${url}/docs`,
  ];
  for (const fact of facts) terminal.print(`  ${terminal.styled('dim', fact)}`);
  terminal.print();
}
