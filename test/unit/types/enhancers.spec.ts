import { describe, expect, it } from '@jest/globals';
import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import {
  type DelayBatchRequest,
  type DelayCall,
  delayCallOf,
  type DelayEnhancers,
  DelayGuardError,
  DelayInterceptorError,
  type DelayQueueOptions,
  type DelayRequest,
  OnDelay,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import '../../support/delay-payloads.js';

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

/** `tsc` is the judge here, as in `handlers.spec.ts`. */
describe('types of enhancers', () => {
  it("are 'own', 'all' or none, of the module and of a handler", () => {
    const options: DelayQueueOptions[] = [
      { enhancers: 'own' },
      { enhancers: 'all' },
      { enhancers: false },
      // @ts-expect-error -- whose?
      { enhancers: true },
    ];
    const all: DelayEnhancers[] = [false, 'own', 'all'];
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
    expect([options, all, wrong, Handlers, asked]).toBeDefined();
  });

  it('a request-scoped provider asks what it serves', () => {
    const served = ({ delay }: DelayRequest, batch: DelayBatchRequest) => {
      // @ts-expect-error -- of a batch there are many
      const one: unknown = batch.delay;
      // @ts-expect-error -- of one delay there is no list
      const request: DelayRequest = { delays: [delay], ctx: batch.ctx };
      // @ts-expect-error -- and of a batch no single one
      const batchRequest: DelayBatchRequest = { delay, ctx: batch.ctx };
      return [one, request, batchRequest, batch.delays[0]?.id];
    };
    const codes: ['DELAY_GUARD', 'DELAY_INTERCEPTOR'] = [
      new DelayGuardError().code,
      new DelayInterceptorError().code,
    ];
    // @ts-expect-error -- it says why
    const guard = new DelayGuardError(5);
    // @ts-expect-error -- it says why
    const interceptor = new DelayInterceptorError(5);
    expect([served, codes, guard, interceptor]).toHaveLength(4);
  });
});
