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
