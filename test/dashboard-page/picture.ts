/**
 * Takes the pictures of the dashboard that the documentation shows, beside a shop that was just started:
 *
 *     npm start
 *     npm run picture:dashboard -- http://127.0.0.1:3000 docs/images
 */
import { join } from 'node:path';
import { openBrowser } from '../page/support/visitor.js';

const [url = 'http://127.0.0.1:3000', folder = 'docs/images'] = process.argv.slice(2);

const SIZE = { width: 1280, height: 860 };

async function post(path: string, body?: object): Promise<{ id: string }> {
  const response = await fetch(new URL(path, url), {
    method: 'POST',
    ...(body && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json() as Promise<{ id: string }>;
}

const place = () => post('/orders', { items: [{ sku: 'TEA-OOLONG', quantity: 1 }] });

// An order with a story.
const { id } = await place();
await post(`/orders/${id}/pay`);
await post(`/orders/${id}/ship`);
await post(`/orders/${id}/extend`);
for (let n = 0; n < 12; n += 1) await place();

const browser = await openBrowser();
const page = await browser.newPage({ viewport: SIZE, locale: 'en-GB', reducedMotion: 'reduce' });
await page.goto(new URL('/delays/', url).href);
await page.getByRole('button', { name: 'Minute' }).click();
await page.getByText('All is well').waitFor();
await page.waitForTimeout(4_000);
await page.screenshot({ path: join(folder, 'dashboard.png') });
await page.goto(new URL(`/delays/?view=story&key=${id}`, url).href);
await page.getByText('order.confirm').first().waitFor();
// Once its message has gone out.
await page.getByText('Completed').first().waitFor();
await page.screenshot({ path: join(folder, 'dashboard-story.png') });
await browser.close();
