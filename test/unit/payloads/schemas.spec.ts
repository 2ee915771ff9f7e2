import { describe, expect, it } from '@jest/globals';
import { DelayConfigError, OnDelay, type PayloadSchema } from 'nestjs-delay-queue';
import { z } from 'zod';
import { RESOLVED_OPTIONS } from '../../../src/delay-queue/options/delay-queue.options.js';
import { resolveOptions } from '../../../src/delay-queue/options/resolve-options.js';
import { Payloads } from '../../../src/delay-queue/payloads/payloads.js';
import { explored } from '../handlers/explored.js';

const Amount = z.object({ cents: z.number() });
const OWNER = { name: 'a.b', key: null };

/** A schema of any library. */
const schemaOf = (validate: (value: unknown) => unknown): PayloadSchema =>
  ({ '~standard': { version: 1, vendor: 'test', validate } }) as PayloadSchema;

const payloadsWith = (schema: unknown): Payloads => {
  const payloads = new Payloads(1_000);
  payloads.expect('a.b', schema, 'a.b');
  return payloads;
};

const moduleWith = (payloads: object) => ({
  provide: RESOLVED_OPTIONS,
  useValue: resolveOptions({ payloads }),
});

describe('the schema of a handler', () => {
  class Handlers {
    @OnDelay('test.amount', { payload: Amount })
    on(): void {}
  }

  it('may stand in the module, too', async () => {
    const registry = await explored([Handlers, moduleWith({ 'test.amount': Amount })]);
    expect(registry.get('test.amount')?.readPayload).toBeDefined();
  });

  it('stops the start when the module has another one for that name', async () => {
    const other = moduleWith({ 'test.amount': z.object({}) });
    await expect(explored([Handlers, other])).rejects.toThrow(
      new DelayConfigError(
        "Handlers.on: payload: test.amount has another schema in the module's payloads",
      ),
    );
  });

  it('stops the start when it is none', async () => {
    class Wrong {
      @OnDelay('test.amount', { payload: { parse: () => {} } as never })
      on(): void {}
    }
    await expect(explored([Wrong])).rejects.toThrow('Wrong.on: payload: must be a schema of');
  });
});

describe('a payload', () => {
  it('without schema and codec is stored, and read, as ever: nothing is in between', () => {
    const payloads = new Payloads(1_000);
    expect(payloads.stored('{"n":1}', OWNER)).toBe('{"n":1}');
    expect(payloads.readerOf('a.b')).toBeUndefined();
  });

  it('with a synchronous schema is there at once', () => {
    expect(payloadsWith(Amount).stored('{"cents":1}', OWNER)).toBe('{"cents":1}');
  });

  it('may have a schema that is a function', () => {
    const schema = Object.assign(
      () => {},
      schemaOf((value) => ({ value })),
    );
    expect(payloadsWith(schema).stored('1', OWNER)).toBe('1');
  });

  it.each<[string, object, { field: string; why: string }]>([
    ['no path', { issues: [{ message: 'no' }] }, { field: 'payload', why: 'no' }],
    [
      'paths of all kinds',
      { issues: [{ message: 'no', path: ['a', 0, { key: 'b c' }, Symbol('d')] }] },
      { field: 'payload.a[0]["b c"]["Symbol(d)"]', why: 'no' },
    ],
    ['no issue', { issues: [] }, { field: 'payload', why: 'does not fit into its schema' }],
  ])('is refused with the path of the issue: %s', (_, result, refusal) => {
    const payloads = payloadsWith(schemaOf(() => result));
    expect(() => payloads.stored('1', OWNER)).toThrow(expect.objectContaining(refusal));
  });

  it('has so many issues as one can read, and none is longer', () => {
    const issues = Array.from({ length: 30 }, () => ({ message: 'x'.repeat(500) }));
    const payloads = payloadsWith(schemaOf(() => ({ issues })));
    let why = '';
    try {
      void payloads.stored('1', OWNER);
    } catch (error) {
      ({ why } = error as { why: string });
    }
    expect(why.split('; ')).toHaveLength(20);
    expect(why.length).toBeLessThan(20 * 220);
  });

  it('is refused when the schema answers something else', () => {
    const payloads = payloadsWith(schemaOf(() => undefined));
    expect(() => payloads.stored('1', OWNER)).toThrow('payload: its schema gave no result');
  });
});
