import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { DelayTimeoutError } from 'nestjs-delay-queue';
import { signal } from '../../support/delay-node.js';
import { surroundedNode } from './support/around-stage.js';

const tenant = new AsyncLocalStorage<string>();
const stage = surroundedNode();
const { node } = stage;

describe('around a call', () => {
  it('is part of its timeout: a next that comes later calls nothing', async () => {
    const goOn = signal();
    const late = signal<unknown>();
    stage.its.ofHandler = async (_, next) => {
      await goOn.promise;
      try {
        await next();
      } catch (error) {
        late.resolve(error);
      }
    };
    const retrying = node.next('retrying');
    await stage.schedule('test.short');
    expect((await retrying).cause).toBeInstanceOf(DelayTimeoutError);
    goOn.resolve();
    expect(await late.promise).toBeInstanceOf(DelayTimeoutError);
    expect(stage.its.log).toEqual([]);
  });

  it('a next that comes after its own end calls nothing, while the attempt still runs', async () => {
    let kept: (() => Promise<void>) | undefined;
    stage.its.ofHandler = async (_, next) => {
      kept = next;
    };
    stage.its.ofModule = async (_, next) => {
      await next().catch(() => kept?.());
    };
    const retrying = node.next('retrying');
    await stage.schedule('test.plain');
    expect((await retrying).error).toContain('next() after the end');
    expect(stage.its.log).toEqual([]);
  });

  it('that ends before what it waits for: what the handler throws then is not lost', async () => {
    const goOn = signal();
    stage.its.handle = () => goOn.promise;
    stage.its.ofHandler = async (_, next) => {
      void next().catch(() => stage.its.log.push('seen too late'));
      setImmediate(() => goOn.reject(new Error('no stock')));
    };
    const retrying = node.next('retrying');
    await stage.schedule('test.plain');
    expect(await retrying).toMatchObject({ error: 'Error: no stock' });
  });

  it('of a batch is one, with all its delays; when it throws, each runs alone', async () => {
    const items = ['a', 'b', 'c'].map((key) => ({
      name: 'test.batch' as const,
      payload: null,
      key,
      after: 0,
    }));
    const sizes: number[] = [];
    stage.its.ofModule = (call, next) => {
      sizes.push(call.delays.length);
      if (call.delays.length > 1) throw new Error('no');
      return next();
    };
    const split = node.next('split');
    await node.delays.scheduleMany(items);
    await node.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
    expect(await split).toMatchObject({ error: 'Error: no' });
    expect(sizes.filter((size) => size > 1).reduce((sum, size) => sum + size, 0)).toBe(3);
    expect(sizes.filter((size) => size === 1)).toHaveLength(3);
  });

  it('a list of them, with a provider in it, runs in its order', async () => {
    stage.its.ofHandler = stage.its.written('second');
    const completed = node.next('completed');
    await stage.schedule('test.listed');
    await completed;
    expect(stage.its.log).toEqual(['provider k', 'second k', 'handler k', 'second over']);
  });

  it('a context that it enters ends with its attempt', async () => {
    const outside: unknown[] = [];
    stage.its.ofModule = async (_, next) => {
      outside.push(tenant.getStore());
      tenant.enterWith('shop-7');
      await next();
    };
    await node.delays.scheduleMany(
      Array.from({ length: 20 }, () => ({ name: 'test.plain', payload: null, after: 0 })),
    );
    await node.until('SELECT id FROM delay_queue.delay', (rows) => rows.length === 0);
    expect(outside).toEqual(Array.from({ length: 20 }, () => undefined));
  });
});
