import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { RunningShop } from './support/running-shop.js';

const shop = RunningShop.forAll();

/** The path as it is: `fetch` would tidy it. */
async function get(path: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(shop.url);
  const sent = request({ host: hostname, port, path }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  sent.destroy();
  return response;
}

it('the page takes nothing from elsewhere and nothing inline', async () => {
  const { headers } = await get('/');
  expect(headers['content-security-policy']).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
      "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; " +
      "form-action 'none'; frame-ancestors 'none'",
  );
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
});

it.each(['/assets/..%2findex.html', '/assets/..%2f..%2fsrc%2fmain.js', '/assets/nothing.js'])(
  'gives nothing away beside its assets: %s',
  async (path) => {
    expect((await get(path)).statusCode).toBe(404);
  },
);
