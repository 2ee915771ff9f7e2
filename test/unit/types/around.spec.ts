import { describe, expect, it } from '@jest/globals';
import {
  type AroundFunction,
  type DelayAround,
  type DelayCall,
  type DelayQueueOptions,
  OnDelay,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import '../../support/delay-payloads.js';

const traced: AroundFunction = async (call, next) => {
  await next();
  return call.delays.length;
};

const changing: AroundFunction = (call, next) => {
  // @ts-expect-error -- readonly
  call.manager = undefined;
  // @ts-expect-error -- the list is the handler's
  call.delays.push(call.delays[0]);
  return next();
};

/** `tsc` is the judge here, as in `handlers.spec.ts`. */
describe('types of around', () => {
  it('a function, an object with one, or a list, of the module and of a handler', () => {
    class Tenants {
      around({ name, delays, manager, signal }: DelayCall, next: () => Promise<void>) {
        const first: string = delays[0].id;
        const transaction: EntityManager | undefined = manager;
        expect([name, first, transaction, signal.aborted]).toBeDefined();
        return next();
      }
    }
    const either: DelayAround[] = [traced, new Tenants()];
    const options: DelayQueueOptions[] = [{ around: traced }, { around: either }];

    class Handlers {
      @OnDelay('test.a', { around: [traced, new Tenants()], transactional: true })
      one(): void {}

      @OnDelay('test.b', { around: new Tenants(), batch: 5 })
      batch(): void {}

      // @ts-expect-error -- a class is no instance of it
      @OnDelay('test.a', { around: Tenants })
      ofClass(): void {}

      // @ts-expect-error -- it says when it has ended, by a promise
      @OnDelay('test.a', { around: () => {} })
      says(): void {}
    }
    expect([options, Handlers]).toBeDefined();
  });

  it('what it sees cannot be changed', () => {
    expect(changing).toBeDefined();
  });

  it('a class, or what answers nothing, is none', () => {
    // @ts-expect-error -- it says when it has ended, by a promise
    const sync: AroundFunction = (_call, next) => void next();
    // @ts-expect-error -- no method around
    const object: DelayAround = { aroundd: traced };
    // @ts-expect-error -- there is always one
    const none: DelayCall['delays'] = [];
    expect([sync, object, none]).toHaveLength(3);
  });
});
