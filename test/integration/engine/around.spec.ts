import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { DelayAroundError, type DelayCall, type DelayContext } from 'nestjs-delay-queue';
import { signal } from '../../support/delay-node.js';
import { surroundedNode } from './support/around-stage.js';

const tenant = new AsyncLocalStorage<string>();
const stage = surroundedNode();
const { node } = stage;

describe.each(['test.plain', 'test.fenced'] as const)('around a call of %s', (name) => {
  it('the module is outside, the handler inside, and contexts reach the handler', async () => {
    let seen: DelayCall | undefined;
    let ctx: Partial<{ manager: unknown }> & Partial<DelayContext> = {};
    stage.its.ofModule = async (call, next) => {
      seen = call;
      await tenant.run('shop-7', () => stage.its.written('module')(call, next));
    };
    stage.its.ofHandler = stage.its.written('handler');
    stage.its.handle = (_, given) => {
      ctx = given;
      stage.its.log.push(`in ${tenant.getStore()}`);
    };
    const completed = node.next('completed');
    await stage.schedule(name, 'k', 'payload');
    const { id } = await completed;
    expect(stage.its.log).toEqual([
      'module k',
      'handler k',
      'in shop-7',
      'handler over',
      'module over',
    ]);
    expect(seen).toMatchObject({ name, delays: [{ id, name, attempt: 1, payload: 'payload' }] });
    expect(seen?.signal).toBe(ctx.signal);
    expect(seen?.manager).toBe(ctx.manager);
    expect(ctx.manager === undefined).toBe(name === 'test.plain');
  });

  it('what it throws fails the attempt as if the handler had thrown it', async () => {
    const thrown = new Error('no tenant');
    stage.its.ofModule = ({ delays: [{ attempt }] }, next) => {
      if (attempt === 1) throw thrown;
      return next();
    };
    const retrying = node.next('retrying');
    const completed = node.next('completed');
    await stage.schedule(name);
    expect(await retrying).toMatchObject({ attempt: 1, error: 'Error: no tenant', cause: thrown });
    await node.admin.runNow([{ name, key: 'k' }]);
    expect(await completed).toMatchObject({ attempt: 2 });
    expect(stage.its.log).toEqual(['handler k']);
  });

  it('sees what the handler throws, and the attempt fails of what is let through', async () => {
    stage.its.handle = ({ key }) => {
      throw new Error(`no stock for ${key}`);
    };
    stage.its.ofHandler = async ({ delays: [{ key }] }, next) => {
      await next().catch((error: Error) => {
        stage.its.log.push(error.message);
        if (key === 'through') throw error;
      });
    };
    const completed = node.next('completed');
    const retrying = node.next('retrying');
    await stage.schedule(name, 'swallowed');
    await stage.schedule(name, 'through');
    expect(await completed).toMatchObject({ key: 'swallowed' });
    expect(await retrying).toMatchObject({ key: 'through', error: 'Error: no stock for through' });
    expect(stage.its.log.toSorted()).toEqual(['no stock for swallowed', 'no stock for through']);
  });

  it.each([
    ['without a call of next', 0],
    ['a second call of next', 2],
  ])('%s fails the attempt, and the handler does not run twice', async (_, calls) => {
    stage.its.ofHandler = async (_call, next) => {
      for (let n = 0; n < calls; n += 1) await next();
    };
    const retrying = node.next('retrying');
    await stage.schedule(name);
    const { cause } = await retrying;
    expect(cause).toBeInstanceOf(DelayAroundError);
    expect(cause).toMatchObject({
      code: 'DELAY_AROUND',
      message: expect.stringContaining('next()'),
    });
    expect(stage.its.log).toEqual(calls === 0 ? [] : ['handler k']);
  });

  it('a next that nobody awaits: the attempt ends with its handler', async () => {
    const goOn = signal();
    stage.its.handle = () => goOn.promise;
    stage.its.ofModule = async (_, next) => void next();
    const started = node.next('started');
    const completed = node.next('completed');
    await stage.schedule(name);
    await started;
    expect(await node.delays.find(name, 'k')).toMatchObject({ state: 'running' });
    goOn.resolve();
    await completed;
  });

  it('a next that nobody awaits: what the handler throws, at once or later, is not lost', async () => {
    stage.its.handle = ({ key }) => {
      if (key === 'at once') throw new Error('at once');
      return Promise.resolve().then(() => {
        throw new Error('later');
      });
    };
    stage.its.ofModule = async (_, next) => {
      void tenant.run('shop-7', next);
      await node.dataSource.query('SELECT 1');
    };
    const errors = ['at once', 'later'].map(async (key) => {
      const retrying = node.next('retrying', (event) => event.key === key);
      await stage.schedule(name, key);
      return (await retrying).error;
    });
    expect(await Promise.all(errors)).toEqual(['Error: at once', 'Error: later']);
  });

  it('that throws while the handler runs: no other attempt begins before the handler has ended', async () => {
    const goOn = signal();
    const called = signal();
    let calls = 0;
    stage.its.handle = () => {
      calls += 1;
      called.resolve();
      return goOn.promise;
    };
    stage.its.ofHandler = async (_, next) => {
      void next();
      throw new Error('gave up');
    };
    const retrying = node.next('retrying');
    await stage.schedule(name);
    await called.promise;
    expect(await node.delays.find(name, 'k')).toMatchObject({ state: 'running', attempts: 1 });
    expect(calls).toBe(1);
    goOn.resolve();
    expect(await retrying).toMatchObject({ error: 'Error: gave up' });
  });
});
