import type { PoolClient } from 'pg';

/** The same object, such as a client, with some methods replaced. */
export function withMethods<Its extends object>(its: Its, methods: Record<string, unknown>): Its {
  return new Proxy(its, {
    get(target, name) {
      if (typeof name === 'string' && Object.hasOwn(methods, name)) return methods[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

/** The same client with something else in the place of one statement that has no parameters. */
export function clientSending(
  client: PoolClient,
  statement: 'START TRANSACTION' | 'COMMIT',
  instead: () => Promise<unknown>,
): PoolClient {
  const query = client.query.bind(client) as unknown as (...all: unknown[]) => unknown;
  return withMethods(client, {
    query: (...all: unknown[]) => (all[0] === statement ? instead() : query(...all)),
  });
}
