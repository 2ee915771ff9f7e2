import { beforeEach } from '@jest/globals';
import {
  type AroundFunction,
  type Delay,
  type DelayCall,
  type DelayContext,
  OnDelay,
} from 'nestjs-delay-queue';
import { batchHandler, fencedHandler, plainHandler } from '../../../support/delay-node.js';
import { OneNode } from '../../../support/one-node.js';

const pass: AroundFunction = (_, next) => next();

/** What a test puts around the calls, and into them; `log` is what they have told. */
export class Surroundings {
  ofModule = pass;
  ofHandler = pass;
  log: string[] = [];
  handle = (delay: Delay, _ctx: DelayContext): Promise<void> | void => {
    this.log.push(`handler ${delay.key}`);
  };

  /** Tells when it is called and when it ends. */
  written(word: string): AroundFunction {
    return async ({ delays: [{ key }] }, next) => {
      this.log.push(`${word} ${key}`);
      await next();
      this.log.push(`${word} over`);
    };
  }
}

/** A node whose calls run through a middleware; the surroundings are new before each test. */
export function surroundedNode() {
  let its = new Surroundings();
  beforeEach(() => {
    its = new Surroundings();
  });

  class Tenants {
    readonly #word = 'provider';

    async around({ delays: [{ key }] }: DelayCall, next: () => Promise<void>): Promise<void> {
      its.log.push(`${this.#word} ${key}`);
      await next();
    }
  }

  class Listed {
    @OnDelay('test.listed', { around: [new Tenants(), (...given) => its.ofHandler(...given)] })
    on(delay: Delay<'test.listed'>, ctx: DelayContext): Promise<void> | void {
      return its.handle(delay, ctx);
    }
  }

  const around: AroundFunction = (...given) => its.ofHandler(...given);
  /** What failed does not come again by itself. */
  const options = { around, timeout: '20s', backoff: { base: '1m' } } as const;
  const node = new OneNode({
    providers: [
      plainHandler('test.plain', (...given) => its.handle(...given), options),
      fencedHandler('test.fenced', (...given) => its.handle(...given), options),
      plainHandler('test.short', (...given) => its.handle(...given), {
        ...options,
        timeout: '50ms',
      }),
      batchHandler('test.batch', () => {}, { ...options, batch: 10 }),
      Listed,
    ],
    options: { around: (...given) => its.ofModule(...given) },
  });
  return {
    node,
    get its() {
      return its;
    },
    schedule: (name: `test.${string}`, key = 'k', payload: string | null = null) =>
      node.delays.schedule(name, payload, { after: 0, key }),
  };
}
