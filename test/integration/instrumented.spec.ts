import { afterEach, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DelayEvents, DelayService, OnDelay, OnDelayEvent } from 'nestjs-delay-queue';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { appModule, signal } from '../support/delay-node.js';

/**
 * Instances that an agent such as `@nestjs/observe` has wrapped: each provider of the application,
 * the library's own among them, is a proxy whose methods are functions without metadata.
 */

let app: INestApplicationContext;
let database: TestDatabase;

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
