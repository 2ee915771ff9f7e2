import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { resolveOptions } from '../../../src/delay-queue/options/resolve-options.js';
import {
  DelayConfigError,
  DelayInvalidError,
} from '../../../src/delay-queue/delay/delay.errors.js';
import {
  BACKOFF_DEFAULT,
  backoffMs,
  functionPolicy,
  parseBackoff,
} from '../../../src/delay-queue/options/backoff.js';

const pass = (_: unknown, next: () => Promise<void>): Promise<void> => next();

describe('resolveOptions', () => {
  it('has a default for every option', () => {
    const { nodeName, ...rest } = resolveOptions();
    expect(nodeName).toMatch(/^[\x21-\x7e]{1,60}:\d+:[0-9a-f]{4}$/);
    expect(rest).toEqual({
      schema: 'delay_queue',
      worker: true,
      concurrency: 10,
      timeoutMs: 30_000,
      maxAttempts: 10,
      backoff: { baseMs: 1_000, factor: 2, maxMs: 300_000, jitter: 0.2 },
      leaseMs: 30_000,
      horizonMs: 30_000,
      loadEveryMs: 10_000,
      claimBatch: 500,
      connections: 3,
      historyKeepMs: 86_400_000,
      historyKept: 'ends',
      drainTimeoutMs: 20_000,
      payloadBytesMax: 65_536,
      around: [],
      enhancers: false,
      resolveManager: undefined,
      payloads: { bytesMax: 65_536 },
    });
  });

  it('takes every option, and undefined for a default', () => {
    expect(
      resolveOptions({
        schema: 'timers',
        worker: false,
        nodeName: 'shop-1',
        concurrency: 1,
        timeout: '2m',
        maxAttempts: 3,
        backoff: { base: 500, max: undefined },
        lease: '1m',
        horizon: 60_000,
        loadEvery: '5s',
        claimBatch: 5_000,
        connections: 2,
        history: false,
        drainTimeout: 0,
        payloadBytesMax: 1_048_576,
        around: [pass, { around: pass }],
        enhancers: 'all',
        resolveManager: pass,
        payloads: { 'order.close': z.object({}) },
        codec: { encode: pass, decode: pass },
      }),
    ).toEqual({
      schema: 'timers',
      worker: false,
      nodeName: 'shop-1',
      concurrency: 1,
      timeoutMs: 120_000,
      maxAttempts: 3,
      backoff: { baseMs: 500, factor: 2, maxMs: 300_000, jitter: 0.2 },
      leaseMs: 60_000,
      horizonMs: 60_000,
      loadEveryMs: 5_000,
      claimBatch: 5_000,
      connections: 2,
      historyKeepMs: null,
      historyKept: 'nothing',
      drainTimeoutMs: 0,
      payloadBytesMax: 1_048_576,
      around: [pass, expect.any(Function)],
      enhancers: 'all',
      resolveManager: pass,
      payloads: { bytesMax: 1_048_576, codec: { encode: pass, decode: pass } },
    });
    expect(resolveOptions({ lease: undefined, nodeName: undefined }).leaseMs).toBe(30_000);
    expect(resolveOptions({ history: { keep: '7d' } })).toMatchObject({
      historyKeepMs: 604_800_000,
      historyKept: 'ends',
    });
    expect(resolveOptions({ history: { attempts: true } })).toMatchObject({
      historyKeepMs: 86_400_000,
      historyKept: 'attempts',
    });
  });

  it.each<[unknown, string]>([
    [null, 'options: must be an object, not null'],
    [{ concurency: 5 }, 'options.concurency: is not an option; did you mean concurrency?'],
    [{ redis: 'x' }, 'options.redis: is not an option; there are schema, worker'],
    [{ schema: 'a"; DROP SCHEMA public; --' }, 'schema: must be'],
    [{ history: { attempts: 'yes' } }, 'history.attempts: must be true or false, not'],
    [{ payloads: [] }, 'payloads: must be an object of schemas, not an array'],
    [{ payloads: { 'a.b': {} } }, 'payloads.a.b: must be a schema of Standard Schema v1'],
    [{ payloads: { 'a b': z.string() } }, 'payloads.name: must be'],
    [{ codec: { encode: pass } }, 'codec: must be an object with the methods encode and decode'],
    [{ resolveManager: {} }, 'resolveManager: must be a function that answers an EntityManager'],
    [{ around: 'trace' }, 'around: must be a function, or an object with a method around'],
    [{ around: [pass, null] }, 'around[1]: must be a function, or an object with a method around'],
    [{ around: class Tracing {} }, 'around: is a class; give an instance of it'],
    [{ around: Array(21).fill(pass) }, 'around: must be at most 20, not 21'],
    [
      { enhancers: true },
      `enhancers: must be 'own' (of the handler's class and method), 'all' (the application's, too) or false, not true`,
    ],
    [{ worker: 'false' }, `worker: must be true, false or 'manual', not "false"`],
    [{ nodeName: '' }, 'nodeName: must be'],
    [{ nodeName: 'a\nb' }, 'nodeName: must be'],
    [{ nodeName: 'x'.repeat(81) }, 'nodeName: must be'],
    [{ concurrency: 0 }, 'concurrency: must be a whole number from 1 to 10000, not 0'],
    [{ concurrency: null }, 'concurrency: must be a whole number from 1 to 10000, not null'],
    [{ timeout: '25d' }, 'timeout: must be from 1ms to 24d, not "25d"'],
    [{ maxAttempts: 1_001 }, 'maxAttempts: must be a whole number from 1 to 1000'],
    [{ backoff: '1s' }, 'backoff: must be an object, not "1s"'],
    [{ backoff: { base: '10m' } }, 'backoff.base: must not exceed backoff.max'],
    [{ backoff: { factor: 0.5 } }, 'backoff.factor: must be a number from 1 to 100, not 0.5'],
    [{ backoff: { jiter: 1 } }, 'backoff.jiter: is not an option; did you mean jitter?'],
    [{ lease: '500ms' }, 'lease: must be from 1s to 1h'],
    [{ loadEvery: '1ms' }, 'loadEvery: must be from 100ms to 1h'],
    [{ loadEvery: '30s' }, 'loadEvery: must be shorter than horizon (30000 ms >= 30000 ms)'],
    [{ claimBatch: 5_001 }, 'claimBatch: must be a whole number from 1 to 5000'],
    [{ connections: 1 }, 'connections: must be a whole number from 2 to 20'],
    [{ history: true }, "history: must be false or { keep: '24h' }, not true"],
    [{ history: { keep: 0 } }, 'history.keep: must be from 1s to 36525d'],
    [{ history: { kep: '1d' } }, 'history.kep: is not an option; did you mean keep?'],
    [{ drainTimeout: -1 }, 'drainTimeout: must not be negative'],
    [{ payloadBytesMax: 1_048_577 }, 'payloadBytesMax: must be a whole number from 2 to 1048576'],
  ])('refuses %j and says why', (options, why) => {
    expect(() => resolveOptions(options)).toThrow(DelayConfigError);
    expect(() => resolveOptions(options)).toThrow(`DelayQueueModule: ${why}`);
  });
});

describe('backoffMs', () => {
  it('grows by the factor to the maximum, shortened by the jitter', () => {
    expect(pausesMs(0)).toEqual([1_000, 2_000, 4_000, 300_000]);
    expect(pausesMs(1)).toEqual([800, 1_600, 3_200, 240_000]);
  });
});

describe('parseBackoff', () => {
  it('takes what is left out from the defaults', () => {
    expect(parseBackoff({}, BACKOFF_DEFAULT)).toEqual(BACKOFF_DEFAULT);
    expect(parseBackoff({ base: '2s', jitter: 1 }, BACKOFF_DEFAULT)).toEqual({
      baseMs: 2_000,
      factor: 2,
      maxMs: 300_000,
      jitter: 1,
    });
  });

  it.each([null, 5, [], { factor: '2' }, { jitter: 1.1 }, { base: '1h' }, { delay: '1s' }])(
    'refuses %j',
    (backoff) => {
      expect(() => parseBackoff(backoff, BACKOFF_DEFAULT)).toThrow(DelayInvalidError);
    },
  );
});

describe('functionPolicy', () => {
  it.each<[string, () => any]>([
    ['throws', thrower],
    ['answers NaN', () => NaN],
    ['answers a negative number', () => -5],
    ['answers nothing', () => undefined],
    ['answers a promise', () => Promise.resolve(5)],
    ['answers a text that is no duration', () => 'later'],
  ])('a function that %s is reported, and the fallback takes its place', (_what, broken) => {
    const faults: unknown[] = [];
    const policy = functionPolicy(
      broken,
      (attempt) => attempt * 7,
      (fault) => faults.push(fault),
    );
    expect(policy(2)).toBe(14);
    expect(faults).toHaveLength(1);
  });
});

function thrower(): never {
  throw new Error('broken');
}

function pausesMs(random: number): number[] {
  return [1, 2, 3, 10].map((attempt) => backoffMs(BACKOFF_DEFAULT, attempt, () => random));
}
