import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
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
import { enhancedNode } from './stage.js';

const tenant = new AsyncLocalStorage<string>();
const stage = enhancedNode();
const { node } = stage;

describe.each(['test.plain', 'test.fenced'] as const)('enhancers of %s', (name) => {
  it('stand inside of around, see the arguments of the handler, and what it is', async () => {
    const { its } = stage;
    let context: ExecutionContext | undefined;
    let metadata: ArgumentMetadata | undefined;
    let handled: unknown[] = [];
    its.around = (_, next) => tenant.run('shop-7', next);
    its.guard = (given) => {
      context = given;
      its.log.push(`guard in ${tenant.getStore()}`);
      return of(true);
    };
    its.interceptor = (given, next) => {
      its.log.push(`interceptor of ${given.getType()}`);
      return tenant.run('shop-8', () => next.handle());
    };
    its.pipe = async (payload, given) => {
      metadata = given;
      its.log.push('pipe');
      return `${String(payload)}!`;
    };
    its.handle = (...given) => {
      handled = given;
      its.log.push(`handler in ${tenant.getStore()}`);
    };
    const completed = node.next('completed');
    await stage.schedule(name, 'k', 'payload');
    const { id } = await completed;
    expect(its.log).toEqual([
      'guard in shop-7',
      'interceptor of delay',
      'pipe',
      'handler in shop-8',
    ]);
    const [delay, ctx] = handled as [{ id: string }, { manager?: object; signal: AbortSignal }];
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
  });

  it('a guard that refuses fails the attempt; the next one is asked again', async () => {
    stage.its.guard = (context) => delayCallOf(context)?.delays[0].attempt === 2;
    const retrying = node.next('retrying');
    const completed = node.next('completed');
    await stage.schedule(name);
    const { cause } = await retrying;
    expect(cause).toBeInstanceOf(DelayGuardError);
    expect(cause).toMatchObject({
      code: 'DELAY_GUARD',
      message: expect.stringMatching(/ refused the call of Handlers\.(plain|fenced)$/),
    });
    expect(stage.its.log).toEqual([]);
    await node.admin.runNow([{ name, key: 'k' }]);
    expect(await completed).toMatchObject({ attempt: 2 });
    expect(stage.its.log).toEqual(['handler k']);
  });

  it('a guard discards and postpones, and no filter hears of that', async () => {
    stage.its.guard = (context) => {
      const [{ key }] = delayCallOf(context)!.delays;
      throw key === 'dead' ? new DiscardDelay('closed') : new PostponeDelay('1h');
    };
    stage.its.filter = () => stage.its.log.push('filter');
    const dead = node.next('dead');
    const postponed = node.next('postponed');
    await stage.schedule(name, 'dead');
    await stage.schedule(name, 'later');
    expect(await dead).toMatchObject({ key: 'dead', attempt: 1, error: 'closed' });
    expect(await postponed).toMatchObject({ key: 'later', waitMs: 3_600_000 });
    expect(stage.its.log).toEqual([]);
  });

  it('the attempt ends with what an interceptor makes of the handler', async () => {
    const goOn = signal();
    stage.its.interceptor = (_, next) =>
      defer(async () => {
        await new Promise<void>((resolve, reject) => {
          next.handle().subscribe({ error: reject, complete: resolve });
        });
        await goOn.promise;
      });
    const started = node.next('started');
    const completed = node.next('completed');
    await stage.schedule(name);
    await started;
    expect(await node.delays.find(name, 'k')).toMatchObject({ state: 'running' });
    goOn.resolve();
    await completed;
    expect(stage.its.log).toEqual(['handler k']);
  });

  it('an error that an interceptor catches is none, and what is left of the handler is nothing', async () => {
    stage.its.handle = () => {
      throw new Error('no stock');
    };
    stage.its.interceptor = (_, next) => next.handle().pipe(catchError(() => EMPTY));
    const completed = node.next('completed');
    await stage.schedule(name);
    expect(await completed).toMatchObject({ attempt: 1 });
    stage.its.handle = () => {};
    stage.its.interceptor = (_, next) => next.handle().pipe(ignoreElements());
    const again = node.next('completed');
    await stage.schedule(name);
    expect(await again).toMatchObject({ attempt: 1 });
  });

  it.each([
    ['that answers by itself', () => of('from a cache')],
    ['that ends at once', () => EMPTY],
  ])(
    'an interceptor %s fails the attempt: nothing completes that was not run',
    async (_, answer) => {
      stage.its.interceptor = (_context, next) => {
        next.handle();
        return answer();
      };
      const retrying = node.next('retrying');
      await stage.schedule(name);
      const { cause } = await retrying;
      expect(cause).toBeInstanceOf(DelayInterceptorError);
      expect(cause).toMatchObject({
        code: 'DELAY_INTERCEPTOR',
        message: expect.stringContaining('the handler was not called'),
      });
      expect(stage.its.log).toEqual([]);
    },
  );

  it('a handler runs once in an attempt, whatever interceptors try', async () => {
    const thrown = new Error('no stock');
    stage.its.handle = () => {
      stage.its.log.push('handler');
      throw thrown;
    };
    stage.its.interceptor = (_, next) => next.handle().pipe(retry(2));
    const retrying = node.next('retrying');
    await stage.schedule(name);
    const { cause } = await retrying;
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
      const goOn = signal();
      const called = signal();
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
      const retrying = node.next('retrying').then((event) => {
        stage.its.log.push('attempt over');
        return event;
      });
      await stage.schedule(name);
      await called.promise;
      // Whatever came of it would be told before this one.
      const other = node.next('completed');
      await stage.schedule(name, 'other');
      await other;
      goOn.resolve();
      expect(await retrying).toMatchObject({ error });
      expect(stage.its.log).toEqual(['handler over', 'attempt over']);
    },
  );

  it.each<[string, () => unknown]>([
    ['nothing', () => {}],
    ['a value', () => ({ status: 'handled' })],
    ['a promise', async () => 'handled'],
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
    const retrying = node.next('retrying');
    await stage.schedule(name);
    expect((await retrying).cause).toBe(thrown);
    expect(heard).toEqual([[thrown, 'delay', 'k']]);
  });

  it.each<[string, (error: Error) => unknown]>([
    [
      'throws',
      (error) => {
        throw error;
      },
    ],
    [
      'rejects',
      async (error) => {
        throw error;
      },
    ],
    ['answers with an Observable that fails', (error) => throwError(() => error)],
  ])('what a filter %s stands for the error', async (_, answer) => {
    stage.its.pipe = () => {
      throw new BadRequestException('no amount');
    };
    stage.its.filter = ({ message }) => answer(new DiscardDelay(`never: ${message}`));
    const dead = node.next('dead');
    await stage.schedule(name);
    expect(await dead).toMatchObject({ attempt: 1, error: 'never: no amount' });
    expect(stage.its.log).toEqual([]);
  });

  it('a filter hears of a guard and of an interceptor, too', async () => {
    stage.its.filter = ({ name: error }, host) => {
      stage.its.log.push(`${delayCallOf(host)?.delays[0].key} ${error}`);
    };
    stage.its.guard = (context) => delayCallOf(context)?.delays[0].key !== 'guard';
    stage.its.interceptor = () => throwError(() => new TypeError('broken'));
    for (const key of ['guard', 'interceptor']) {
      const retrying = node.next('retrying');
      await stage.schedule(name, key);
      await retrying;
    }
    expect(stage.its.log).toEqual(['guard DelayGuardError', 'interceptor TypeError']);
  });
});
