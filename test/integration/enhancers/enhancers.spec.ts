import { AsyncLocalStorage } from 'node:async_hooks';
import { expect, it } from '@jest/globals';
import { type ArgumentMetadata, type ExecutionContext, BadRequestException } from '@nestjs/common';
import {
  delayCallOf,
  DelayGuardError,
  DelayInterceptorError,
  DiscardDelay,
  PostponeDelay,
} from 'nestjs-delay-queue';
import { catchError, defer, EMPTY, ignoreElements, of, retry, throwError } from 'rxjs';
import { signal } from '../../support/delay-node.js';
import { enhancedNode, handled } from './stage.js';

const tenant = new AsyncLocalStorage<string>();
const stage = enhancedNode();
const { node } = stage;

it.each(['test.plain', 'test.fenced'] as const)(
  'enhancers of %s stand inside of around, see the arguments of the handler, and what it is',
  async (name) => {
    const { its } = stage;
    let context: ExecutionContext | undefined;
    let metadata: ArgumentMetadata | undefined;
    let given: unknown[] = [];
    its.around = (_, next) => tenant.run('shop-7', next);
    its.guard = (guarded) => {
      context = guarded;
      its.log.push(`guard in ${tenant.getStore()}`);
      return of(true);
    };
    its.interceptor = (host, next) => {
      its.log.push(`interceptor of ${host.getType()}`);
      return tenant.run('shop-8', () => next.handle());
    };
    its.pipe = async (payload, about) => {
      metadata = about;
      its.log.push('pipe');
      return `${String(payload)}!`;
    };
    its.handle = (...args) => {
      given = args;
      its.log.push(`handler in ${tenant.getStore()}`);
    };
    const { id } = await stage.fire('completed', name, 'k', 'payload');
    expect(its.log).toEqual([
      'guard in shop-7',
      'interceptor of delay',
      'pipe',
      'handler in shop-8',
    ]);
    const [delay, ctx] = given as [{ id: string }, { manager?: object; signal: AbortSignal }];
    expect(delay).toMatchObject({ id, name, attempt: 1, payload: 'payload!' });
    expect(context?.getArgs()).toEqual([{ ...delay, payload: 'payload' }, ctx]);
    expect(context?.getClass().name).toBe('Handlers');
    expect(context?.getHandler().name).toBe(name.slice('test.'.length));
    expect(metadata).toMatchObject({ type: 'body', metatype: undefined });
    const call = delayCallOf(context!);
    expect(call).toMatchObject({ name, delays: [{ id, payload: 'payload' }] });
    expect(call?.signal).toBe(ctx.signal);
    expect(call?.manager).toBe(ctx.manager);
    expect(call?.manager === undefined).toBe(name === 'test.plain');
  },
);

it('a guard that refuses fails the attempt; the next one is asked again', async () => {
  stage.its.guard = (context) => delayCallOf(context)?.delays[0].attempt === 2;
  const { cause } = await stage.fire('retrying');
  expect(cause).toBeInstanceOf(DelayGuardError);
  expect(cause).toMatchObject({
    code: 'DELAY_GUARD',
    message: expect.stringMatching(/ refused the call of Handlers\.plain$/),
  });
  expect(stage.its.log).toEqual([]);
  const completed = node.next('completed');
  await node.admin.runNow([{ name: 'test.plain', key: 'k' }]);
  expect(await completed).toMatchObject({ attempt: 2 });
  expect(stage.its.log).toEqual(['handler k']);
});

it('a guard discards and postpones, and no filter hears of that', async () => {
  stage.its.guard = (context) => {
    const [{ key }] = delayCallOf(context)!.delays;
    throw key === 'dead' ? new DiscardDelay('closed') : new PostponeDelay('1h');
  };
  stage.its.filter = () => stage.its.log.push('filter');
  const postponed = node.next('postponed');
  await stage.schedule('test.plain', 'later');
  expect(await postponed).toMatchObject({ key: 'later', waitMs: 3_600_000 });
  const dead = await stage.fire('dead', 'test.plain', 'dead');
  expect(dead).toMatchObject({ attempt: 1, error: 'closed' });
  expect(stage.its.log).toEqual([]);
});

it('the attempt ends with what an interceptor makes of the handler', async () => {
  const goOn = signal();
  stage.its.interceptor = (_, next) =>
    defer(async () => {
      await handled(next);
      await goOn.promise;
    });
  const started = node.next('started');
  const completed = stage.fire('completed');
  await started;
  expect(await node.delays.find('test.plain', 'k')).toMatchObject({ state: 'running' });
  goOn.resolve();
  await completed;
  expect(stage.its.log).toEqual(['handler k']);
});

it('an error that an interceptor catches is none, and what is left of the handler is nothing', async () => {
  stage.its.handle = () => {
    throw new Error('no stock');
  };
  stage.its.interceptor = (_, next) => next.handle().pipe(catchError(() => EMPTY));
  expect(await stage.fire('completed')).toMatchObject({ attempt: 1 });
  stage.its.handle = () => {};
  stage.its.interceptor = (_, next) => next.handle().pipe(ignoreElements());
  expect(await stage.fire('completed')).toMatchObject({ attempt: 1 });
});

it.each([
  ['that answers by itself', () => of('from a cache')],
  ['that ends at once', () => EMPTY],
])('an interceptor %s fails the attempt: nothing completes that was not run', async (_, answer) => {
  stage.its.interceptor = (_context, next) => {
    next.handle();
    return answer();
  };
  const { cause } = await stage.fire('retrying');
  expect(cause).toBeInstanceOf(DelayInterceptorError);
  expect(cause).toMatchObject({
    code: 'DELAY_INTERCEPTOR',
    message: expect.stringContaining('the handler was not called'),
  });
  expect(stage.its.log).toEqual([]);
});

it('a handler runs once in an attempt, whatever interceptors try', async () => {
  const thrown = new Error('no stock');
  stage.its.handle = () => {
    stage.its.log.push('handler');
    throw thrown;
  };
  stage.its.interceptor = (_, next) => next.handle().pipe(retry(2));
  const { cause } = await stage.fire('retrying');
  expect(cause).toBeInstanceOf(DelayInterceptorError);
  expect(cause).toMatchObject({ cause: thrown });
  expect(stage.its.log).toEqual(['handler']);
});

it.each([
  ['gives up', throwError(() => new Error('too slow')), 'Error: too slow'],
  ['is content', of(undefined), 'Error: no stock'],
])(
  'an interceptor that %s before the handler has ended: the attempt ends with the handler',
  async (_, answer, error) => {
    const [goOn, called] = [signal(), signal()];
    stage.its.handle = async ({ key }) => {
      if (key !== 'k') return;
      called.resolve();
      await goOn.promise;
      stage.its.log.push('handler over');
      throw new Error('no stock');
    };
    stage.its.interceptor = (context, next) => {
      if (delayCallOf(context)?.delays[0].key !== 'k') return next.handle();
      next
        .handle()
        .pipe(catchError(() => EMPTY))
        .subscribe();
      return answer;
    };
    const retrying = stage.fire('retrying').then((event) => {
      stage.its.log.push('attempt over');
      return event;
    });
    await called.promise;
    // Whatever came of it would be told before this one.
    await stage.fire('completed', 'test.plain', 'other');
    goOn.resolve();
    expect(await retrying).toMatchObject({ error });
    expect(stage.its.log).toEqual(['handler over', 'attempt over']);
  },
);

it.each<[string, () => unknown]>([
  ['nothing', () => {}],
  ['an Observable', () => of('handled')],
])('a filter that returns %s does not undo the error', async (_, filter) => {
  const thrown = new Error('no stock');
  const heard: unknown[] = [];
  stage.its.handle = () => {
    throw thrown;
  };
  stage.its.filter = (error, host) => {
    heard.push([error, host.getType(), delayCallOf(host)?.delays[0].key]);
    return filter();
  };
  expect((await stage.fire('retrying')).cause).toBe(thrown);
  expect(heard).toEqual([[thrown, 'delay', 'k']]);
});

it.each<[string, (error: Error) => unknown]>([
  [
    'rejects with',
    async (error) => {
      throw error;
    },
  ],
  ['answers as an Observable that fails', (error) => throwError(() => error)],
])('what a filter %s stands for the error', async (_, answer) => {
  stage.its.pipe = () => {
    throw new BadRequestException('no amount');
  };
  stage.its.filter = ({ message }) => answer(new DiscardDelay(`never: ${message}`));
  expect(await stage.fire('dead')).toMatchObject({ attempt: 1, error: 'never: no amount' });
  expect(stage.its.log).toEqual([]);
});

it('a filter hears of a guard and of an interceptor, too', async () => {
  stage.its.filter = ({ name }, host) => {
    stage.its.log.push(`${delayCallOf(host)?.delays[0].key} ${name}`);
  };
  stage.its.guard = (context) => delayCallOf(context)?.delays[0].key !== 'guard';
  stage.its.interceptor = () => throwError(() => new TypeError('broken'));
  for (const key of ['guard', 'interceptor']) await stage.fire('retrying', 'test.plain', key);
  expect(stage.its.log).toEqual(['guard DelayGuardError', 'interceptor TypeError']);
});
