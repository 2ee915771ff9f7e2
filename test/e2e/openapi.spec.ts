import { beforeAll, describe, expect, it } from '@jest/globals';
import { RunningShop } from './support/running-shop.js';

describe('the OpenAPI document', () => {
  const shop = RunningShop.forAll();
  let paths: Record<string, any>;
  let schemas: Record<string, any>;

  beforeAll(async () => {
    const { body } = await shop.get('/docs/openapi.json');
    ({ paths } = body);
    ({ schemas } = body.components);
  });

  it('lists every route', () => {
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.toSorted()).toEqual([
      'GET /campaigns',
      'GET /campaigns/{id}',
      'GET /feed',
      'GET /feed/orders/{id}',
      'GET /invariants',
      'GET /merchants',
      'GET /messages',
      'GET /orders',
      'GET /orders/{id}',
      'GET /payments',
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
    expect(Object.keys(responses)).toEqual(['201', '400', '409', '413', '415', '422', '503']);

    const order = paths['/orders/{id}'].get.responses['200'].content['application/json'].schema;
    expect(order.required).toEqual(
      expect.arrayContaining(['id', 'status', 'payments', 'review', 'delays', 'timeline']),
    );
    expect(order.properties.status.enum).toContain('CLOSED');
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
    const page = await fetch(`${await shop.app.getUrl()}/docs`);
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('swagger-ui');
  });
});
