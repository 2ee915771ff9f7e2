import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  BACKOFF_DEFAULT,
  backoffMs,
  functionPolicy,
} from '../../../src/delay-queue/core/config/backoff.js';
import {
  checkAsyncOptions,
  checkModuleOptions,
  resolveOptions,
} from '../../../src/delay-queue/core/config/options.js';

const pass = (_: unknown, next: () => Promise<void>): Promise<void> => next();

const sevenfold = (attempt: number): number => attempt * 7;

const keptFor = (count: number, time: (n: number) => unknown): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, time(n)]));

describe('the options of the module', () => {
  it('have a default each', () => {
    const { nodeName, ...rest } = resolveOptions();
    expect(nodeName).toMatch(/^[\x21-\x7e]{1,60}:\d+:[0-9a-f]{4}$/);
    expect(rest).toEqual({
      queue: 'default',
      schema: 'delay_queue',
      installation: { schema: 'delay_queue', clock: 'database' },
      worker: true,
      autorun: true,
      concurrency: 10,
      timeoutMs: 30_000,
      maxAttempts: 10,
      backoff: { baseMs: 1_000, factor: 2, maxMs: 300_000, jitter: 0.2 },
      leaseMs: 30_000,
      horizonMs: 30_000,
      loadEveryMs: 10_000,
      idleForMs: null,
      claimBatch: 500,
      connections: 3,
      historyKeeps: [{ keepMs: 86_400_000, names: [], areOthers: true, isAbandoned: false }],
      historyKept: 'ends',
      drainTimeoutMs: 20_000,
      payloadBytesMax: 65_536,
      around: [],
      enhancers: false,
      resolveManager: undefined,
      telemetry: undefined,
      deployment: undefined,
      payloads: { bytesMax: 65_536 },
    });
  });

  it('are taken as they are given, up to their bounds, and undefined is a default', () => {
    const same = {
      schema: 'timers',
      worker: false,
      autorun: false,
      nodeName: 'shop-1',
      deployment: 'eu/1',
      enhancers: 'all',
    };
    const integers = { concurrency: 1, maxAttempts: 3, claimBatch: 5_000, connections: 2 };
    const codec = { encode: pass, decode: pass };
    const telemetry = { observe: pass, runCall: pass, runAttempts: pass };
    const given = {
      ...same,
      ...integers,
      timeout: '2m',
      backoff: { base: 500, max: undefined },
      lease: undefined,
      horizon: 60_000,
      loadEvery: '5s',
      idleFor: '10m',
      history: false,
      drainTimeout: 0,
      payloadBytesMax: 1_048_576,
      around: [pass, { around: pass }],
      resolveManager: pass,
      telemetry,
      payloads: { 'order.close': z.object({}) },
      codec,
    };
    expect(resolveOptions(given)).toEqual({
      ...same,
      queue: 'default',
      installation: { schema: 'timers', clock: 'database' },
      ...integers,
      timeoutMs: 120_000,
      backoff: { baseMs: 500, factor: 2, maxMs: 300_000, jitter: 0.2 },
      leaseMs: 30_000,
      horizonMs: 60_000,
      loadEveryMs: 5_000,
      idleForMs: 600_000,
      historyKeeps: [{ keepMs: 86_400_000, names: [], areOthers: true, isAbandoned: true }],
      historyKept: 'nothing',
      drainTimeoutMs: 0,
      payloadBytesMax: 1_048_576,
      around: [pass, expect.any(Function)],
      resolveManager: pass,
      telemetry,
      payloads: { bytesMax: 1_048_576, codec },
    });
  });

  const dayOfOthers = {
    keepMs: 86_400_000,
    names: [] as string[],
    areOthers: true,
    isAbandoned: false,
  };

  it.each([
    [{ keep: '7d' }, 'ends', [{ ...dayOfOthers, keepMs: 604_800_000 }]],
    [{ attempts: true }, 'attempts', [dayOfOthers]],
    [
      { names: { a: '1h', b: '24h', c: 3_600_000, d: undefined } },
      'ends',
      [
        { keepMs: 3_600_000, names: ['a', 'c'], areOthers: false, isAbandoned: false },
        { ...dayOfOthers, names: ['a', 'c'] },
      ],
    ],
  ])('of history %j keep what is not said', (history, historyKept, historyKeeps) => {
    expect(resolveOptions({ history })).toMatchObject({ historyKeeps, historyKept });
  });

  /** Those of another type, and misspelt ones, are in `test/hostile/wrong-options.spec.ts`. */
  it.each<[unknown, string]>([
    [{ payloads: { 'a.b': {} } }, 'payloads.a.b: must be a schema of Standard Schema v1'],
    [{ payloads: { 'a b': z.string() } }, 'payloads.name: must be'],
    [{ codec: { encode: pass } }, 'codec: must be an object with the methods encode and decode'],
    [{ codec: { encode: pass, decode: pass, strict: 1 } }, 'codec.strict: must be true or false'],
    [{ around: [pass, null] }, 'around[1]: must be a function, or an object with a method around'],
    [{ around: class Tracing {} }, 'around: is a class; give an instance of it'],
    [{ around: Array(21).fill(pass) }, 'around: must be at most 20, not 21'],
    [{ telemetry: pass }, 'telemetry: must be what openTelemetry() of'],
    [{ telemetry: { observe: pass } }, 'telemetry: must be what openTelemetry() of'],
    [{ nodeName: 'a\nb' }, 'nodeName: must be'],
    [{ nodeName: 'x'.repeat(81) }, 'nodeName: must be'],
    [{ deployment: '' }, 'deployment: must be'],
    [{ deployment: 'a b' }, 'deployment: must be'],
    [{ concurrency: 10_001 }, 'concurrency: must be a whole number from 1 to 10000'],
    [{ timeout: '25d' }, 'timeout: must be from 1ms to 24d, not "25d"'],
    [{ maxAttempts: 1_001 }, 'maxAttempts: must be a whole number from 1 to 1000'],
    [{ backoff: { base: '10m' } }, 'backoff.base: must not exceed backoff.max'],
    [{ backoff: { factor: 0.5 } }, 'backoff.factor: must be a number from 1 to 100, not 0.5'],
    [{ backoff: { jitter: 1.1 } }, 'backoff.jitter: must be a number from 0 to 1, not 1.1'],
    [{ lease: '500ms' }, 'lease: must be from 1s to 1h'],
    [{ horizon: '61m' }, 'horizon: must be from 1s to 1h'],
    [{ loadEvery: '1ms' }, 'loadEvery: must be from 100ms to 1h'],
    [{ loadEvery: '30s' }, 'loadEvery: must be shorter than horizon (30000 ms >= 30000 ms)'],
    [{ idleFor: '13h' }, 'idleFor: must be from 1s to 12h'],
    [{ claimBatch: 5_001 }, 'claimBatch: must be a whole number from 1 to 5000'],
    [{ connections: 1 }, 'connections: must be a whole number from 2 to 20'],
    [{ connections: 21 }, 'connections: must be a whole number from 2 to 20'],
    [{ history: { keep: 0 } }, 'history.keep: must be from 1s to 36525d'],
    [{ history: { names: { 'a.b': 0 } } }, 'history.names.a.b: must be from 1s to 36525d, not 0'],
    [{ history: { names: { 'a.b': '999ms' } } }, 'history.names.a.b: must be from 1s'],
    [{ history: { names: { 'a.b': -1 } } }, 'history.names.a.b: must not be negative'],
    [{ history: { names: { 'a.b': '1M' } } }, 'history.names.a.b: is months or minutes'],
    [{ history: { names: { 'a b': '1d' } } }, 'history.names.name: must be a text like'],
    [{ history: { names: ['a.b'] } }, 'history.names: must be an object, not an array'],
    [{ history: { name: {} } }, 'history.name: is not an option; did you mean names?'],
    [
      { history: { names: keptFor(1_001, () => '1d') } },
      'history.names: must be at most 1000 names',
    ],
    [{ history: { names: keptFor(21, (n) => n + 1_000) } }, 'must have at most 20 different times'],
    [{ drainTimeout: '61m' }, 'drainTimeout: must be from 0 to 1h'],
    [{ payloadBytesMax: 1_048_577 }, 'payloadBytesMax: must be a whole number from 2 to 1048576'],
  ])('refuse %j', (options, message) => {
    const refused = { code: 'DELAY_CONFIG', message: expect.stringContaining(message) };
    expect(() => resolveOptions(options)).toThrow(expect.objectContaining(refused));
  });
});

describe('what forRootAsync is given', () => {
  class Made {}

  it.each<object>([
    { useFactory: pass, inject: [], imports: [], isGlobal: false, dataSource: 'other' },
    { useClass: Made },
    { useExisting: Made },
    { useExisting: 'token' },
    { useExisting: Symbol('token') },
  ])('is taken: %p', (options) => {
    expect(() => checkAsyncOptions(options)).not.toThrow();
  });

  it.each<[object, string]>([
    [{}, 'useFactory|useClass|useExisting: say how the options are made, with exactly one of them'],
    [{ useFactory: pass, useClass: Made }, 'with exactly one of them'],
    [{ useClass: 'token' }, 'useClass: must be a function or a class, not "token"'],
    [{ useExisting: 7 }, 'useExisting: must be a function or a class, not 7'],
    [{ useFactory: pass, isGlobal: 1 }, 'isGlobal: must be true or false, not 1'],
    [{ useFactory: pass, lease: '1s' }, 'options.lease'],
  ])('is refused: %p', (options, message) => {
    const refused = { code: 'DELAY_CONFIG', message: expect.stringContaining(message) };
    expect(() => checkAsyncOptions(options)).toThrow(expect.objectContaining(refused));
  });

  it.each(['isGlobal', 'dataSource'])('answers no %s: that stands beside it', (name) => {
    expect(() => resolveOptions({ [name]: true })).toThrow(`options.${name}: stands beside`);
    expect(() => checkModuleOptions({ [name]: true, lease: '1s' })).not.toThrow();
    expect(() => checkModuleOptions({ isGlobal: 'yes' })).toThrow(
      'isGlobal: must be true or false',
    );
  });
});

describe('the pause before another attempt', () => {
  it.each([
    [0, [1_000, 2_000, 4_000, 300_000]],
    [1, [800, 1_600, 3_200, 240_000]],
  ])('grows to the maximum, less its jitter times %d', (random, pausesMs) => {
    const pauseMs = (attempt: number) => backoffMs(BACKOFF_DEFAULT, attempt, () => random);
    expect([1, 2, 3, 10].map(pauseMs)).toEqual(pausesMs);
  });

  it.each<[string, () => any]>([
    ['throws', () => JSON.parse('')],
    ['answers a negative number', () => -5],
    ['answers a promise', () => Promise.resolve(5)],
  ])('of a function that %s is the default, and the fault is told', (_, broken) => {
    const faults: unknown[] = [];
    const policy = functionPolicy(broken, sevenfold, (fault) => faults.push(fault));
    expect(policy(2)).toBe(14);
    expect(faults).toHaveLength(1);
  });

  it('of a function whose promise is rejected ends no process', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    const broken = (() => Promise.reject(new Error('no'))) as never;
    expect(functionPolicy(broken, sevenfold, () => {})(2)).toBe(14);
    await new Promise(setImmediate);
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });
});
