import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DelayConfigError, DelayQueueModule, DelayService } from 'nestjs-delay-queue';
import { refusedApp } from '../engine/support/refused-start.js';
import { Stage } from '../engine/support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

// By force: when a start is refused while TypeORM is still connecting, Nest closes nothing.
afterEach(() => stage.close({ force: true }));

@Module({})
class RootModule {}

const app = (...imports: (Type | DynamicModule)[]): DynamicModule => ({
  module: RootModule,
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: stage.url, retryAttempts: 0 }),
    ...imports,
  ],
});

@Injectable()
class Orders {
  constructor(readonly delays: DelayService) {}
}

/** What `forRoot({ isGlobal: false })` is for: one module has it, and hands it on. */
function delaysModule(): Type {
  @Module({
    imports: [DelayQueueModule.forRoot({ isGlobal: false })],
    exports: [DelayQueueModule],
  })
  class DelaysModule {}
  return DelaysModule;
}

function ordersModule(...imports: Type[]): Type {
  @Module({ imports, providers: [Orders] })
  class OrdersModule {}
  return OrdersModule;
}

describe('with isGlobal: false', () => {
  it('a module that imports the one with forRoot gets the services', async () => {
    const nest = await NestFactory.createApplicationContext(app(ordersModule(delaysModule())), {
      logger: false,
    });
    const { delays } = nest.get(Orders, { strict: false });
    expect(await delays.cancel('test.a', 'nobody')).toEqual({ verdict: 'absent' });
    await nest.close();
  });

  it('a module that does not import it is told by Nest what is missing', async () => {
    const error = await refusedApp(app(delaysModule(), ordersModule()));
    expect(String(error)).toMatch(/DelayService .* available in the OrdersModule/);
  });

  it('to import the bare class is refused, and the error says what to import', async () => {
    const error = await refusedApp(app(ordersModule(DelayQueueModule)));
    expect(error).toBeInstanceOf(DelayConfigError);
    expect(String(error)).toMatch(/imported without forRoot\(\).*export DelayQueueModule/);
  });
});

it('two copies of this package in one application are refused', async () => {
  @Module({})
  class OtherCopy {}
  Reflect.set(OtherCopy, Symbol.for('nestjs-delay-queue:module'), true);
  const error = await refusedApp(app(DelayQueueModule.forRoot(), OtherCopy));
  expect(error).toBeInstanceOf(DelayConfigError);
  expect(String(error)).toContain('npm ls nestjs-delay-queue');
});
