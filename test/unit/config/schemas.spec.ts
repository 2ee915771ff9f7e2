import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { OnDelay, type PayloadSchema } from 'nestjs-delay-queue';
import { z } from 'zod';
import { Payloads } from '../../../src/delay-queue/core/config/payloads.js';
import { explored, refusalOf } from '../handlers/explored.js';

const Amount = z.object({ cents: z.number() });
const OWNER = { name: 'a.b', key: null };

/** A schema of any library. */
const schemaOf = (result: unknown): PayloadSchema =>
  ({ '~standard': { version: 1, vendor: 'test', validate: () => result } }) as PayloadSchema;

const stored = (json: string, schema: unknown): string | Promise<string> => {
  const payloads = new Payloads(1_000);
  payloads.expect('a.b', schema, 'a.b');
  return payloads.stored(json, OWNER);
};

const inModule = (schema: object) => ({
  options: { payloads: { 'test.amount': schema as never } },
});

it('the schema of a handler may stand in the module, too, but not another one', async () => {
  class Handlers {
    @OnDelay('test.amount', { payload: Amount })
    on(): void {}
  }
  const registry = await explored([Handlers], inModule(Amount));
  expect(registry.get('test.amount')?.readPayload).toBeDefined();
  expect(await refusalOf([Handlers], inModule(z.object({})))).toBe(
    "DELAY_CONFIG Handlers.on: payload: test.amount has another schema in the module's payloads",
  );
});

describe('a payload', () => {
  it('without schema and codec is stored, and read, as ever: nothing is in between', () => {
    const payloads = new Payloads(1_000);
    expect(payloads.stored('{"n":1}', OWNER)).toBe('{"n":1}');
    expect(payloads.readerOf('a.b')).toBeUndefined();
  });

  it('with a synchronous schema is there at once, also if that is a function', () => {
    expect(stored('{"cents":1}', Amount)).toBe('{"cents":1}');
    expect(
      stored(
        '1',
        Object.assign(() => {}, schemaOf({ value: 1 })),
      ),
    ).toBe('1');
  });

  it.each<[unknown, field: string, why: string]>([
    [{ issues: [{ message: 'no' }] }, 'payload', 'no'],
    [
      { issues: [{ message: 'no', path: ['a', 0, { key: 'b c' }, Symbol('d')] }] },
      'payload.a[0]["b c"]["Symbol(d)"]',
      'no',
    ],
    [{ issues: [] }, 'payload', 'does not match its schema'],
    [undefined, 'payload', 'its schema gave no result'],
  ])('is refused with the path of the issue: no. %#', (result, field, why) => {
    const refused = { field, why: expect.stringContaining(why) };
    expect(() => stored('1', schemaOf(result))).toThrow(expect.objectContaining(refused));
  });

  it('has so many issues as one can read, and none is longer', () => {
    const issues = Array.from({ length: 30 }, () => ({ message: 'x'.repeat(500) }));
    const why = /^(?=.{2000,4400}$)(?:[^;]+; ){19}[^;]+$/;
    expect(() => stored('1', schemaOf({ issues }))).toThrow(
      expect.objectContaining({ why: expect.stringMatching(why) }),
    );
  });
});

const never = (): Promise<never> => new Promise(() => {});

describe('a call is not kept for ever', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const hung = new Payloads(1_000, { encode: never, decode: never });

  it.each<[string, () => unknown, object]>([
    [
      'by a schema that does not answer',
      () => stored('1', schemaOf(never())),
      { field: 'payload', why: 'its schema did not answer within 30000 ms' },
    ],
    [
      'by a codec that does not encode',
      () => hung.stored('1', OWNER),
      { code: 'DELAY_CODEC', cause: new Error('it did not answer within 30000 ms') },
    ],
    [
      'by a codec that does not decode',
      () => hung.given('{"delay-queue:encoded": "x"}', OWNER),
      { code: 'DELAY_CODEC', cause: new Error('it did not answer within 30000 ms') },
    ],
  ])('%s', async (_, call, error) => {
    const answer = Promise.allSettled([call()]);
    await jest.advanceTimersByTimeAsync(30_000);
    expect(await answer).toMatchObject([{ reason: error }]);
  });
});
