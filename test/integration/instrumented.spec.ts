import { afterEach, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayEvents, DelayService, OnDelay, OnDelayEvent } from 'nestjs-delay-queue';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { appModule, signal, startNode } from '../support/delay-node.js';
import { clientTelling } from '../support/sent-statements.js';
import { until } from '../support/until.js';

/**
 * Instances that an agent such as `@nestjs/observe` has wrapped: each provider of the application,
 * the library's own among them, is a proxy whose methods are functions without metadata.
 */

let app: INestApplicationContext;
let database: TestDatabase;

/** Of an identifier in Postgres. */
const NAME_MAX = 63;

const EXPECTED = ['claim', 'load', 'removeOne', 'schedule', 'reschedule', 'cancelWaiting'];

afterEach(async () => {
  await app.close();
  await database.drop();
});

const traced: string[] = [];

/** Private members know only the instance itself, so methods run on that, as those of the agent do. */
function wrapped<Instance>(instance: Instance): Instance {
  if (typeof instance !== 'object' || instance === null) return instance;
  return new Proxy(instance, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function' || property === 'constructor') return value;
      return (...given: unknown[]) => {
        traced.push(`${target.constructor.name}.${String(property)}`);
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
}

@Injectable()
class Closing {
  readonly closed = signal<string>();
  readonly heard = signal<string>();
  readonly #orders: string[] = [];

  @OnDelay('test.wrapped', { transactional: true })
  async close({ key }: { key: string | null }): Promise<void> {
    this.#orders.push(key ?? '');
    this.closed.resolve(this.#orders.join());
  }

  @OnDelayEvent('completed')
  completed({ key }: { key: string | null }): void {
    this.heard.resolve(key ?? '');
  }
}

it('a handler of a wrapped instance is found, runs through its wrapper, and its delay ends', async () => {
  database = await createTestDatabase();
  const module = appModule({ url: database.url, providers: [Closing] });
  app = await NestFactory.createApplicationContext(module, {
    logger: false,
    abortOnError: false,
    instrument: { instanceDecorator: wrapped },
  });
  await app.init();
  const closing = app.get(Closing);
  expect(app.get(DelayEvents)).toBeInstanceOf(DelayEvents);
  await app.get(DelayService).schedule('test.wrapped', null, { after: 0, key: '42' });
  expect([await closing.closed.promise, await closing.heard.promise]).toEqual(['42', '42']);
  expect(traced).toContain('Closing.close');
});

it('prepared statements are named by their purpose first, as agents show them', async () => {
  const purposes = new Set<string>();
  const wrong = new Set<string>();
  const Client = clientTelling((text, _, [asked]) => {
    const { name } = asked as { name?: string };
    if (name === undefined) return;
    const [, purpose] = /^delay-queue (\w+) [\da-f]{24}$/.exec(name) ?? [];
    if (purpose === undefined || purpose === 'statement' || name.length > NAME_MAX)
      wrong.add(`${name}: ${text}`);
    else purposes.add(purpose);
  });
  database = await createTestDatabase();
  const node = await startNode({ url: database.url, providers: [Closing], Client });
  app = node.app;
  const key = 'k';
  await until(
    async () => {
      await node.delays.schedule('test.wrapped', null, { after: 0, key });
      await node.delays.schedule('test.wrapped', null, { after: '1h', key: 'later' });
      await node.delays.reschedule('test.wrapped', 'later', { after: '2h' });
      await node.delays.cancel('test.wrapped', 'later');
      return [...purposes];
    },
    (seen) => EXPECTED.every((purpose) => seen.includes(purpose)),
  );
  expect([...wrong]).toEqual([]);
});
