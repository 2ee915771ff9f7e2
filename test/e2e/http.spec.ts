import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Problem } from '../../src/shop/http/problem.js';
import { JSON_TYPE, problemIn } from './support/answered.js';
import { RunningShop } from './support/running-shop.js';

const shop = RunningShop.forAll();

const order = (...items: object[]) => ({ items });

const refused = async (body: unknown): Promise<Problem> => {
  const answer = await shop.sendAsItIs('POST', '/orders', JSON.stringify(body), JSON_TYPE);
  const said = problemIn(answer, 400);
  expect(said.type).toBe('/docs#invalid-request');
  return said;
};

describe('a problem', () => {
  const ORDER = JSON.stringify(order({ sku: 'CUP-WHITE', quantity: 1 }));

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
    [
      order({ sku: 'A', quantity: 1, price: 1 }),
      'items.0.price',
      'is not known here; there is sku, quantity',
    ],
    [
      order(...[60, 39, 1].map((quantity) => ({ sku: 'A', quantity }))),
      'items.2.quantity',
      'must be at most 99 of one SKU, together with its other lines: 100 now',
    ],
    [[], 'body', 'must be an object, not a list'],
  ])('of %j is told in words', async (body, field, message) => {
    expect((await refused(body)).errors).toEqual([{ field, message }]);
  });

  it('is short for who sends thousands of wrong fields', async () => {
    const fields = Array.from({ length: 3_000 }, (_, n) => [`field${n}`, n]);
    const { errors, detail } = await refused(Object.fromEntries(fields));
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
    const { id } = await shop.orderAfter();
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '0' };
    expect((await shop.sendAsItIs('POST', `/orders/${id}/pay`, undefined, form)).status).toBe(200);
  });

  it.each([
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

describe('the OpenAPI document', () => {
  let paths: Record<string, any>;
  let schemas: Record<string, any>;

  beforeAll(async () => {
    const { body } = await shop.get('/docs/openapi.json');
    ({ paths } = body);
    ({ schemas } = body.components);
  });

  it('describes what goes in and what comes out', () => {
    const { responses, parameters } = paths['/orders'].post;
    expect(parameters).toMatchObject([{ name: 'Idempotency-Key', in: 'header' }]);
    expect(Object.keys(responses)).toEqual(['201', '400', '409', '413', '415', '422', '503']);
    const view = paths['/orders/{id}'].get.responses['200'].content['application/json'].schema;
    const told = ['id', 'status', 'payments', 'review', 'delays', 'timeline'];
    expect(view.required).toEqual(expect.arrayContaining(told));
    expect(view.properties.status.enum).toContain('CLOSED');
  });

  it('says of every error that it is a problem', () => {
    for (const operation of Object.values(paths).flatMap((path) => Object.values<any>(path))) {
      expect(Object.keys(operation.responses)).toContain('503');
      for (const [status, { content }] of Object.entries<any>(operation.responses)) {
        if (Number(status) < 400) continue;
        const schema = { $ref: '#/components/schemas/Problem' };
        expect(content).toEqual({ 'application/problem+json': { schema } });
      }
    }
    expect(schemas.Problem.required).toEqual(['type', 'title', 'status', 'detail']);
  });

  it('is a page at /docs', async () => {
    const page = await shop.sendAsItIs('GET', '/docs');
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('swagger-ui')]);
  });
});

describe('the page', () => {
  it('takes nothing from elsewhere and nothing inline', async () => {
    const { headers } = await shop.sendAsItIs('GET', '/');
    expect(headers).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
        "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; " +
        "form-action 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    });
  });

  it.each(['/assets/..%2findex.html', '/assets/..%2f..%2fsrc%2fmain.js', '/assets/nothing.js'])(
    'gives nothing away beside its assets: %s',
    async (path) => {
      expect((await shop.sendAsItIs('GET', path)).status).toBe(404);
    },
  );
});
