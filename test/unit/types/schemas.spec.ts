import { describe, expect, it } from '@jest/globals';
import {
  type Delay,
  type DelayInfo,
  type DelayQueueOptions,
  OnDelay,
  type OnDelayOptions,
  type PayloadCodec,
  type PayloadIssue,
  type PayloadOwner,
  type PayloadSchema,
  type SchemaIssue,
  type SchemaResult,
} from 'nestjs-delay-queue';
import { z } from 'zod';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'types.given': { n: number };
    'types.parsed': { at: string };
  }
  interface ParsedPayloads {
    'types.parsed': { at: Date };
  }
}

const Fitting = z.object({ n: z.number() });
const Parsed = z.object({ at: z.string().transform((text) => new Date(text)) });

const found = ({ payload }: DelayInfo<'types.parsed'>): unknown => {
  // @ts-expect-error -- what the schema makes of it is the handler's alone
  payload.at.getTime();
  return payload.at.length;
};

/** `tsc` is the judge here, as in `handlers.spec.ts`. */
describe('types of payloads', () => {
  it('a schema makes what the handlers of its name get', () => {
    const right: DelayQueueOptions = {
      payloads: { 'types.given': Fitting, 'types.parsed': Parsed },
    };
    const wrong: DelayQueueOptions = {
      // @ts-expect-error -- the payloads of types.given have a number
      payloads: { 'types.given': z.object({ n: z.string() }) },
    };
    const unknownName: DelayQueueOptions = {
      // @ts-expect-error -- no such name
      payloads: { 'nobody.knows': Fitting },
    };
    const noSchema: DelayQueueOptions = {
      // @ts-expect-error -- no schema of Standard Schema
      payloads: { 'types.given': { parse: () => ({ n: 1 }) } },
    };
    expect([right, wrong, unknownName, noSchema]).toBeDefined();
  });

  it('of a handler, too', () => {
    class Handlers {
      @OnDelay('types.given', { payload: Fitting })
      right(delay: Delay<'types.given'>): void {
        expect(delay.payload.n.toFixed()).toBeDefined();
      }

      @OnDelay('types.parsed', { payload: Parsed, batch: 10 })
      parsed(delays: Delay<'types.parsed'>[]): void {
        expect(delays.map(({ payload }) => payload.at.getTime())).toBeDefined();
      }

      // @ts-expect-error -- makes another payload
      @OnDelay('types.given', { payload: Parsed })
      wrong(_delay: Delay<'types.given'>): void {}
    }
    const shared: OnDelayOptions = { concurrency: 5 };
    expect([Handlers, shared]).toBeDefined();
  });

  it('find shows what was scheduled', () => {
    expect(found).toBeDefined();
  });

  it('a codec turns texts into texts', () => {
    const codec: PayloadCodec = {
      encode: (json, { name, key }) => `${name} ${key} ${json}`,
      decode: async (encoded) => encoded.split(' ')[2] ?? '',
    };
    const wrong: PayloadCodec = {
      // @ts-expect-error -- a text
      encode: (json) => Buffer.from(json),
      decode: (encoded) => encoded,
    };
    expect([codec, wrong]).toBeDefined();
  });

  it('any schema of Standard Schema will do, and nothing less', () => {
    const issue: SchemaIssue = { message: 'no number', path: ['items', { key: 0 }] };
    const results: SchemaResult<number>[] = [{ value: 1 }, { issues: [issue] }];
    const schema: PayloadSchema<number> = {
      '~standard': { version: 1, vendor: 'own', validate: () => results[0] ?? { issues: [] } },
    };
    const owner: PayloadOwner = { name: 'a', key: null };
    const issueFound: PayloadIssue = { path: 'payload.n', message: 'no number' };
    // @ts-expect-error -- what is wrong?
    const issueWrong: SchemaIssue = { path: ['n'] };
    // @ts-expect-error -- what it makes is a number
    const resultWrong: SchemaResult<number> = { value: '1' };
    // @ts-expect-error -- another version
    const schemaWrong: PayloadSchema = { '~standard': { ...schema['~standard'], version: 2 } };
    // @ts-expect-error -- without a key it is null
    const ownerWrong: PayloadOwner = { name: 'a' };
    // @ts-expect-error -- the path is one text
    const issueFoundWrong: PayloadIssue = { path: ['n'], message: 'no number' };
    expect([schema, owner, issueFound, issueWrong, resultWrong, schemaWrong]).toHaveLength(6);
    expect([ownerWrong, issueFoundWrong]).toHaveLength(2);
  });
});
