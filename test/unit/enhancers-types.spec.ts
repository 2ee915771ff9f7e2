import { describe, expect, it } from '@jest/globals';
import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import {
  type DelayCall,
  delayCallOf,
  type DelayEnhancers,
  type DelayQueueOptions,
  OnDelay,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import '../support/delay-payloads.js';

const asked = (context: ExecutionContext, host: ArgumentsHost) => {
  const call: DelayCall | undefined = delayCallOf(context) ?? delayCallOf(host);
  const manager: EntityManager | undefined = call?.manager;
  const attempt: number | undefined = call?.delays[0].attempt;
  // @ts-expect-error -- of a request it is undefined
  const name: string = delayCallOf(context).name;
  // @ts-expect-error -- a delay is no context
  delayCallOf(call?.delays[0]);
  return { manager, attempt, name };
};

/** `tsc` is the judge here, as in `types.spec.ts`. */
describe('types of enhancers', () => {
  it("are 'own', 'all' or none, of the module and of a handler", () => {
    const options: DelayQueueOptions[] = [
      { enhancers: 'own' },
      { enhancers: 'all' },
      { enhancers: false },
      // @ts-expect-error -- whose?
      { enhancers: true },
    ];
    // @ts-expect-error -- the application's alone are no choice
    const wrong: DelayEnhancers = 'global';

    class Handlers {
      @OnDelay('test.a', { enhancers: 'all', transactional: true })
      one(): void {}

      @OnDelay('test.b', { enhancers: false, batch: 5 })
      batch(): void {}

      // @ts-expect-error -- whose?
      @OnDelay('test.a', { enhancers: true })
      all(): void {}
    }
    expect([options, wrong, Handlers, asked]).toBeDefined();
  });
});
