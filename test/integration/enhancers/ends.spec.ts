import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  BadRequestException,
  type ExecutionContext,
  UseGuards,
} from '@nestjs/common';
import { delayCallOf, DelayGuardError, OnDelay } from 'nestjs-delay-queue';
import { defer } from 'rxjs';
import { signal } from '../../support/delay-node.js';
import { enhancedNode, handled } from './stage.js';

const tenant = new AsyncLocalStorage<string>();
const write = (line: string, host: ArgumentsHost): Promise<unknown> =>
  delayCallOf(host)!.manager!.query('INSERT INTO note VALUES ($1)', [line]);

const stage = enhancedNode();
const { node } = stage;

describe('enhancers and the end of an attempt', () => {
  it('an interceptor or a pipe that takes longer than the attempt lasts calls no handler any more', async () => {
    const over = signal();
    const late = signal<unknown>();
    stage.its.interceptor = (_, next) =>
      defer(async () => {
        await over.promise;
        await handled(next).then(() => late.resolve('called'), late.resolve);
      });
    const failed = await stage.fire('retrying', 'test.short', 'interceptor');
    expect(failed).toMatchObject({ cause: { code: 'DELAY_TIMEOUT' } });
    over.resolve();
    expect(await late.promise).toMatchObject({ code: 'DELAY_TIMEOUT' });

    const piped = signal();
    const ended = signal<Error>();
    stage.its.interceptor = (_, next) => next.handle();
    stage.its.pipe = () => piped.promise;
    stage.its.filter = (error) => ended.resolve(error);
    await stage.fire('retrying', 'test.short', 'pipe');
    piped.resolve();
    expect(await ended.promise).toMatchObject({ code: 'DELAY_TIMEOUT' });
    expect(stage.its.log).toEqual([]);
  });

  it('what they write through the manager is part of the transaction: with a failure it is gone', async () => {
    await node.sql('CREATE TABLE IF NOT EXISTS note (line text)');
    stage.its.guard = async (context) => {
      await write('guard', context);
      return true;
    };
    stage.its.interceptor = (context, next) =>
      defer(async () => {
        await write('interceptor', context);
        await handled(next);
      });
    stage.its.filter = (_, host) => write('filter', host);
    stage.its.handle = async ({ key }, { manager }) => {
      await manager?.query(`INSERT INTO note VALUES ('handler')`);
      if (key === 'fails') throw new Error('fails');
    };
    await stage.fire('retrying', 'test.fenced', 'fails');
    expect(await node.sql('SELECT * FROM note')).toEqual([]);
    await stage.fire('completed', 'test.fenced', 'works');
    const lines = await node.sql<{ line: string }>('SELECT * FROM note');
    expect(lines.map(({ line }) => line)).toEqual(['guard', 'interceptor', 'handler']);
  });

  it('a batch is one call; its pipes see each payload, and the one that they refuse fails alone', async () => {
    const asked: number[] = [];
    stage.its.guard = (context) => asked.push(delayCallOf(context)!.delays.length) > 0;
    stage.its.pipe = (payload) => {
      if (payload === 'bad') throw new BadRequestException('bad');
      return `${String(payload)}!`;
    };
    const ends = [
      node.next('completed', ({ key }) => key === 'a'),
      node.next('completed', ({ key }) => key === 'c'),
      node.next('retrying', ({ key }) => key === 'b'),
    ];
    const items = Object.entries({ a: 'one', b: 'bad', c: 'three' }).map(([key, payload]) => ({
      name: 'test.batch' as const,
      payload,
      key,
      after: 0,
    }));
    await node.delays.scheduleMany(items);
    await Promise.all(ends);
    expect(asked[0]).toBe(3);
    expect(stage.its.log.toSorted()).toEqual(['"one!"', '"three!"']);
  });

  it('@OnDeadDelay is called as it is: no guard keeps a delay from its end', async () => {
    stage.its.guard = () => false;
    stage.its.pipe = () => 'piped';
    const dead = await stage.fire('dead', 'test.last', 'k', 'as it was');
    expect(dead).toMatchObject({ cause: expect.any(DelayGuardError) });
    expect(stage.its.log).toEqual(['dead k "as it was"']);
  });

  it('a context that a guard enters reaches the handler, and ends with the attempt', async () => {
    const outside: unknown[] = [];
    stage.its.guard = () => {
      outside.push(tenant.getStore());
      tenant.enterWith('shop-7');
      return true;
    };
    stage.its.handle = () => void stage.its.log.push(String(tenant.getStore()));
    await node.delays.scheduleMany(
      Array.from({ length: 20 }, () => ({ name: 'test.bare', payload: null, after: 0 })),
    );
    await node.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
    expect(outside).toEqual(Array.from({ length: 20 }, () => undefined));
    expect(stage.its.log).toEqual(Array.from({ length: 20 }, () => 'shop-7'));
  });

  it('an interceptor that has ended calls no handler any more', async () => {
    const late = signal<unknown>();
    stage.its.interceptor = (_, next) => {
      const call = next.handle();
      setImmediate(() =>
        call.subscribe({ error: late.resolve, complete: () => late.resolve('called') }),
      );
      throw new Error('gave up');
    };
    expect(await stage.fire('retrying')).toMatchObject({ error: 'Error: gave up' });
    expect(await late.promise).toMatchObject({
      message: expect.stringContaining('called too late'),
    });
    expect(stage.its.log).toEqual([]);
  });

  it('at shutdown a handler that was not called yet is not called, and no attempt is spent', async () => {
    const asked = signal();
    const log: string[] = [];
    class Guarded {
      @UseGuards({
        canActivate: async (context: ExecutionContext) => {
          const { signal: stop } = delayCallOf(context)!;
          asked.resolve();
          await new Promise((resolve) => {
            stop.addEventListener('abort', resolve, { once: true });
          });
          return true;
        },
      })
      @OnDelay('test.guarded')
      on(): void {
        log.push('handler');
      }
    }
    const other = await node.start({ providers: [Guarded], options: { enhancers: 'own' } });
    await other.delays.schedule('test.guarded', null, { after: 0, key: 'k' });
    await asked.promise;
    await other.stop();
    expect(await node.delays.find('test.guarded', 'k')).toMatchObject({
      state: 'scheduled',
      attempts: 0,
    });
    expect(log).toEqual([]);
  });
});
