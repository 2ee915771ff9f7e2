import type { RunningShop } from '../../e2e/support/running-shop.js';
import { ID } from '../../e2e/support/answered.js';

/** As far as the walk looks at a schema of the OpenAPI document. */
export interface Schema {
  type?: string;
  example?: unknown;
  enum?: unknown[];
  format?: string;
  minimum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  nullable?: boolean;
}

/** A route of the application, as its own OpenAPI document tells it. */
export interface Route {
  /** As in `POST /orders/{id}/pay`. */
  name: string;
  method: string;
  /** With an id in it that nobody has; another one can be asked for. */
  at: (id?: string) => string;
  hasId: boolean;
  query: string[];
  body: Schema | undefined;
  /** One that the schema of the body allows, made of its examples. */
  sample: string | undefined;
}

/** Every route that the shop's OpenAPI document lists. */
export async function routesOf(shop: RunningShop): Promise<Route[]> {
  const { body: document } = await shop.get('/docs/openapi.json');
  return Object.entries<any>(document.paths).flatMap(([template, operations]) =>
    Object.entries<any>(operations).map(([verb, operation]) => {
      const method = verb.toUpperCase();
      const body: Schema | undefined = operation.requestBody?.content['application/json'].schema;
      const inPath = (operation.parameters ?? []).find((it: any) => it.in === 'path');
      const known = inPath?.example ?? inPath?.schema.example ?? ID;
      const inQuery = (operation.parameters ?? []).filter((it: any) => it.in === 'query');
      return {
        name: `${method} ${template}`,
        method,
        at: (id = known) => template.replaceAll(/\{\w+\}/g, id),
        hasId: template.includes('{'),
        query: inQuery.map((it: any) => it.name),
        body,
        sample: body && JSON.stringify(sampleOf(body)),
      };
    }),
  );
}

/** Every route that Express has, in the words of the document; also those that are not in it. */
export function routedBy(shop: RunningShop): string[] {
  const { stack } = (shop.app.getHttpAdapter().getInstance() as any).router;
  return stack
    .filter(({ route }: any) => route)
    .flatMap(({ route }: any) =>
      Object.keys(route.methods).map((method) => {
        const template = String(route.path).replaceAll(/:(\w+)/g, '{$1}');
        return `${method.toUpperCase()} ${template}`;
      }),
    );
}

/** The example, or the simplest value that the schema allows; optional fields are left out. */
export function sampleOf(schema: Schema): unknown {
  if (schema.example !== undefined) return schema.example;
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf) return sampleOf(schema.anyOf[0]!);
  if (schema.type === 'object') {
    const fields = (schema.required ?? []).map((name) => [
      name,
      sampleOf(schema.properties![name]!),
    ]);
    return Object.fromEntries(fields);
  }
  if (schema.type === 'array') return [sampleOf(schema.items!)];
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1;
  if (schema.type === 'boolean') return false;
  if (schema.format === 'uuid') return ID;
  if (schema.format === 'date-time') return new Date(Date.now() + 3_600_000).toISOString();
  return 'a text';
}
