import { describe, expect, it } from '@jest/globals';
import type { Problem } from '../../src/shop/http/problem.js';
import { JSON_TYPE, problemIn } from './support/answered.js';
import { RunningShop } from './support/running-shop.js';

const ORDER = JSON.stringify({ items: [{ sku: 'CUP-WHITE', quantity: 1 }] });

const order = (...items: object[]) => ({ items });

describe('a problem', () => {
  const shop = RunningShop.forAll();

  const refused = async (body: unknown): Promise<Problem> => {
    const answer = await shop.sendAsItIs('POST', '/orders', JSON.stringify(body), JSON_TYPE);
    const said = problemIn(answer, 400);
    expect(said.type).toBe('/docs#invalid-request');
    return said;
  };

  it('says which fields are wrong and what would be right', async () => {
    const { errors, detail } = await refused(order({ sku: 'CUP WHITE' }, { quantity: '2' }));
    expect(errors).toEqual([
      { field: 'items.0.sku', message: 'must be 1 to 64 letters, digits, dots or dashes' },
      { field: 'items.0.quantity', message: 'is missing; must be a whole number' },
      { field: 'items.1.sku', message: 'is missing; must be a text' },
      { field: 'items.1.quantity', message: 'must be a whole number, not a text' },
    ]);
    expect(detail).toContain('items.1.quantity: must be a whole number, not a text');
  });

  it.each([
    [{ items: [] }, 'items', 'must have at least 1 entry'],
    [{ items: null }, 'items', 'must be a list, not null'],
    [order({ sku: 'A', quantity: 100 }), 'items.0.quantity', 'must be at most 99'],
    [order({ sku: 'A', quantity: 0.5 }), 'items.0.quantity', 'must be a whole number, not 0.5'],
    [[], 'body', 'must be an object, not a list'],
  ])('of %j is told in words', async (body, field, message) => {
    expect((await refused(body)).errors).toEqual([{ field, message }]);
  });

  it('names a field that nobody knows, wherever it is, and those that there are', async () => {
    const line = { sku: 'CUP-WHITE', quantity: 1 };
    const { errors } = await refused({ items: [{ ...line, price: 1 }], coupon: 'X' });
    expect(errors).toEqual([
      { field: 'items.0.price', message: 'is not known here; there is sku, quantity' },
      { field: 'coupon', message: 'is not known here; there is items' },
    ]);
  });

  it('is a SKU in many lines of which there are too many together', async () => {
    const sku = await shop.newSku({ stock: 1_000 });
    const lines = [60, 39, 1].map((quantity) => ({ sku, quantity }));
    const { errors } = await refused(order(...lines));
    expect(errors).toEqual([
      {
        field: 'items.2.quantity',
        message: 'must be at most 99 of one SKU, together with its other lines: 100 now',
      },
    ]);
    expect(await shop.stockOf(sku)).toBe(1_000);
    const { status } = await shop.post('/orders', order(...lines.slice(0, 2)));
    expect(status).toBe(201);
  });

  it('is short for who sends thousands of wrong fields', async () => {
    const { errors, detail } = await refused(
      Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`field${i}`, i])),
    );
    expect(errors).toHaveLength(20);
    expect(detail).toContain('and 2981 more');
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded'])(
    'is a body that is said to be %s: 415',
    async (type) => {
      const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
      const answer = await shop.sendAsItIs('POST', '/orders', ORDER, headers);
      expect(problemIn(answer, 415).detail).toContain('content-type: application/json');
      expect(answer.headers.accept).toBe('application/json');
    },
  );

  it('is no action without a body, whatever type that has', async () => {
    const { id } = await shop.place(await shop.newSku());
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '0' };
    expect((await shop.sendAsItIs('POST', `/orders/${id}/pay`, undefined, form)).status).toBe(200);
  });

  it.each([
    ['PUT', '/orders/42', 'GET, HEAD'],
    ['GET', '/orders/42/pay', 'POST'],
    ['DELETE', '/sample-provider', 'GET, HEAD, PUT'],
    ['POST', '/docs', 'GET, HEAD'],
  ])('is %s %s: 405, and Allow says what is possible', async (method, path, allow) => {
    const answer = await shop.sendAsItIs(method, path);
    problemIn(answer, 405);
    expect(answer.headers.allow).toBe(allow);
  });

  it('is not what OPTIONS asks for', async () => {
    const answer = await shop.sendAsItIs('OPTIONS', '/skus');
    expect(answer).toMatchObject({ status: 204, text: '', headers: { allow: 'GET, HEAD' } });
  });

  it('is a route that nobody has: 404', async () => {
    const said = problemIn(await shop.sendAsItIs('DELETE', '/nowhere?at=all'), 404);
    expect(said).toMatchObject({ type: 'about:blank', title: 'Not Found' });
    expect(said.detail).toBe('there is nothing at /nowhere; GET /docs shows what there is');
  });
});
