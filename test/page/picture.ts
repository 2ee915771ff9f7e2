/**
 * Takes the picture of the page that the README shows. Beside a shop that was just started:
 *
 *     npm start
 *     npm run picture -- http://127.0.0.1:3000 docs/images/shop.png
 */
import type { Browser } from 'playwright-core';
import { openBrowser, Visitor } from './support/visitor.js';

const [url = 'http://127.0.0.1:3000', file = 'docs/images/shop.png', ...options] =
  process.argv.slice(2);

const VIEWPORT = { width: 1280, height: 1120 };

async function post(path: string, body?: unknown): Promise<{ id: string }> {
  const response = await fetch(new URL(path, url), {
    method: 'POST',
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json() as Promise<{ id: string }>;
}

const place = (sku: string, quantity: number) => post('/orders', { items: [{ sku, quantity }] });

/** So much that the histogram has a shape: each order that is paid has sent two messages. */
async function business(): Promise<void> {
  for (const sku of [
    'TEA-GREEN',
    'TEA-OOLONG',
    'TEA-GREEN',
    'BOWL-RAKU',
    'TEA-OOLONG',
    'TEA-GREEN',
  ]) {
    const { id } = await place(sku, 2);
    for (const deed of ['pay', 'ship', 'confirm']) await post(`/orders/${id}/${deed}`);
  }
}

async function take(browser: Browser): Promise<void> {
  const colorScheme = options.includes('--dark') ? 'dark' : 'light';
  const locale = options.includes('--zh') ? 'zh-CN' : 'en-GB';
  const visitor = await Visitor.come(browser, url, {
    viewport: VIEWPORT,
    reducedMotion: 'reduce',
    colorScheme,
    locale,
  });
  await business();
  await place('POT-IRON', 1);
  const shipped = await place('TEA-OOLONG', 1);
  await post(`/orders/${shipped.id}/pay`);
  // Once it has five stars, the pot's time is nearly over.
  await visitor.page.locator('.order .stars').first().waitFor();
  await post(`/orders/${shipped.id}/ship`);
  await visitor.page.locator('#races').getByRole('button').nth(1).click();
  await visitor.page.locator('.pill.refunded').first().waitFor();
  const disputed = await place('BOWL-RAKU', 1);
  await post(`/orders/${disputed.id}/pay`);
  await visitor.page.locator('.checkout').getByRole('button').click();
  await visitor.page.locator('.order.unpaid .order-details .state.completed').first().waitFor();
  await visitor.page.locator('.order.closed').nth(1).waitFor();
  await visitor.page.locator(':focus').blur();
  await visitor.page.mouse.move(0, 0);
  await visitor.page.screenshot({ path: file });
  await visitor.leave();
}

const browser = await openBrowser();
try {
  await take(browser);
} finally {
  await browser.close();
}
