import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RunningShop } from './support/running-shop.js';

describe('the OpenAPI document', () => {
  let shop: RunningShop;
  let paths: Record<string, any>;

  beforeAll(async () => {
    shop = await RunningShop.open();
    paths = (await shop.get('/docs/openapi.json')).body.paths;
  });
  afterAll(() => shop.close());

  it('lists every route', () => {
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.toSorted()).toEqual([
      'GET /campaigns',
      'GET /campaigns/{id}',
      'GET /invariants',
      'GET /merchants',
      'GET /messages',
      'GET /orders/{id}',
      'GET /payments/{id}',
      'GET /sample-provider',
      'GET /skus',
      'PATCH /merchants/{id}',
      'POST /campaigns',
      'POST /campaigns/{id}/resume',
      'POST /campaigns/{id}/stop',
      'POST /messages/{id}/send',
      'POST /orders',
      'POST /orders/{id}/cancel',
      'POST /orders/{id}/confirm',
      'POST /orders/{id}/dispute',
      'POST /orders/{id}/extend',
      'POST /orders/{id}/pay',
      'POST /orders/{id}/release',
      'POST /orders/{id}/review',
      'POST /orders/{id}/ship',
      'POST /payments/callback',
      'POST /payments/{id}/refund',
      'PUT /sample-provider',
    ]);
  });

  it('describes what goes in and what comes out', () => {
    const { requestBody, responses, parameters } = paths['/orders'].post;
    const items = requestBody.content['application/json'].schema.properties.items;
    expect(items.items.required).toEqual(['sku', 'quantity']);
    expect(parameters).toMatchObject([{ name: 'Idempotency-Key', in: 'header' }]);
    expect(Object.keys(responses)).toEqual(['201', '400', '409', '422']);

    const order = paths['/orders/{id}'].get.responses['200'].content['application/json'].schema;
    expect(order.required).toEqual(
      expect.arrayContaining(['id', 'status', 'payments', 'review', 'delays', 'timeline']),
    );
    expect(order.properties.status.enum).toContain('CLOSED');
  });

  it('is a page at /docs', async () => {
    const page = await fetch(`${await shop.app.getUrl()}/docs`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('swagger-ui');
  });
});
