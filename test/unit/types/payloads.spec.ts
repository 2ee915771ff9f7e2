import { expect, it } from '@jest/globals';
import {
  type Delay,
  type DelayInfo,
  type DelayName,
  type DelayPayloads,
  type DelayQueueOptions,
  type DelayService,
  type GivenPayload,
  type NotStorable,
  OnDelay,
  type ParsedPayloadOf,
  type ParsedPayloads,
  type PayloadCodec,
  type PayloadIssue,
  type PayloadOf,
  type PayloadOwner,
  type PayloadSchema,
  type PlainJson,
  type SchemaIssue,
  type SchemaResult,
  type Storable,
  type StorableMembers,
  type StorableParts,
  type StorablePayloads,
} from 'nestjs-delay-queue';
import { z } from 'zod';
import { fits, same } from '../../support/same-type.js';
import '../../support/delay-payloads.js';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'types.unfit': { at: Date; id: string };
    'types.optional': { id: string; note?: string };
    'types.interface': Basket;
    'types.given': { n: number };
    'types.parsed': { at: string };
  }
  interface ParsedPayloads {
    'types.parsed': { at: Date };
  }
}

interface Basket {
  readonly lines: readonly { sku: string; quantity: number }[];
  parent: Basket | null;
}

type JsonValue = string | number | boolean | null | JsonValue[] | { [member: string]: JsonValue };

/** Plain JSON stays the type that it is; what JSON does not have says why, at any depth. */
function storable() {
  same<Storable<Basket>, Basket>(true);
  same<Storable<JsonValue>, JsonValue>(true);
  same<Storable<unknown>, unknown>(true);
  same<Storable<{ id: string; note?: string }>, { id: string; note?: string }>(true);
  same<Storable<[id: string, quantity?: number]>, [id: string, quantity?: number]>(true);
  same<Storable<string & { brand: 'sku' }>, string & { brand: 'sku' }>(true);

  type IsDate = NotStorable<'a Date: send date.toISOString()'>;
  same<StorableParts<Date>, IsDate>(true);
  same<StorableMembers<{ at: Date; n: number }>, { at: IsDate; n: number }>(true);
  same<StorablePayloads['types.unfit'], { at: IsDate; id: string }>(true);
  same<Storable<{ on?: () => void }>['on'], NotStorable<'a function'> | undefined>(true);
  same<Storable<{ n: bigint }[]>[0]['n'], NotStorable<'a bigint: send it as a string'>>(true);
  type IsUndefined = NotStorable<'undefined: leave it out or send null'>;
  same<Storable<{ maybe: string | undefined }>['maybe'], string | IsUndefined>(true);
  same<StorableParts<Set<string>>, NotStorable<'a Set: send [...set]'>>(true);
  type IsMap = NotStorable<'a Map: send Object.fromEntries(map)'>;
  same<StorableParts<Map<string, number>>, IsMap>(true);
  same<StorableParts<symbol>, NotStorable<'a symbol'>>(true);
  // @ts-expect-error -- a class with methods
  fits<Storable<URL>>(new URL('http://localhost'));
  fits<PlainJson>({ list: [1, 'a', null, { deep: true }] });
  // @ts-expect-error -- no JSON
  fits<PlainJson>({ maybe: undefined });
}

async function declared(delays: DelayService, basket: Basket, after: string) {
  await delays.schedule('types.interface', basket, { after });
  await delays.schedule('types.optional', { id: '1' }, { after });
  // @ts-expect-error -- a member that is not declared
  await delays.schedule('types.optional', { id: '1', more: 2 }, { after });
  // @ts-expect-error -- the declaration has a Date
  await delays.schedule('types.unfit', { at: new Date(), id: '1' }, { after });
  fits<DelayName>('test.a');
  // @ts-expect-error -- not a declared name
  fits<DelayName>('tset.a');
  same<DelayPayloads['test.a'], { n: number }>(true);
  same<PayloadOf<'types.interface'>, Basket>(true);
  same<GivenPayload<'test.a', unknown>, { n: number }>(true);
  same<ParsedPayloadOf<'types.optional'>, PayloadOf<'types.optional'>>(true);
  same<ParsedPayloads['types.parsed'], { at: Date }>(true);
  // What the schema makes of it is the handler's alone.
  same<Delay<'types.parsed'>['payload'], { at: Date }>(true);
  same<DelayInfo<'types.parsed'>['payload'], { at: string }>(true);
}

const Fitting = z.object({ n: z.number() });
const Parsed = z.object({ at: z.string().transform((text) => new Date(text)) });

class Handlers {
  @OnDelay('types.given', { payload: Fitting })
  right(_delay: Delay<'types.given'>): void {}

  @OnDelay('types.parsed', { payload: Parsed, batch: 10 })
  parsed(_delays: Delay<'types.parsed'>[]): void {}

  // @ts-expect-error -- makes another payload
  @OnDelay('types.given', { payload: Parsed })
  wrong(_delay: Delay<'types.given'>): void {}
}

function schemas(number: z.ZodNumber) {
  fits<DelayQueueOptions['payloads']>({ 'types.given': Fitting, 'types.parsed': Parsed });
  // @ts-expect-error -- the payloads of types.given have a number
  fits<DelayQueueOptions['payloads']>({ 'types.given': z.object({ n: z.string() }) });
  // @ts-expect-error -- no such name
  fits<DelayQueueOptions['payloads']>({ 'nobody.knows': Fitting });
  // @ts-expect-error -- no schema of Standard Schema
  fits<DelayQueueOptions['payloads']>({ 'types.given': { parse: () => ({ n: 1 }) } });
  fits<PayloadSchema<number>>(number);
  same<PayloadSchema['~standard']['version'], 1>(true);
  type Path = readonly (PropertyKey | { readonly key: PropertyKey })[];
  same<SchemaIssue, { readonly message: string; readonly path?: Path }>(true);
  fits<SchemaResult<number>[]>([{ value: 1 }, { issues: [{ message: 'no number' }] }]);
  // @ts-expect-error -- what it makes is a number
  fits<SchemaResult<number>>({ value: '1' });
  same<PayloadIssue, { readonly path: string; readonly message: string }>(true);
  same<PayloadOwner, { readonly name: string; readonly key: string | null }>(true);
  fits<PayloadCodec>({
    encode: (json, { name }) => `${name} ${json}`,
    decode: async (text) => text,
  });
  // @ts-expect-error -- a codec makes texts of texts
  fits<PayloadCodec>({ encode: (json) => Buffer.from(json), decode: (encoded) => encoded });
}

it('what payloads are declared as, by `tsc`', () => {
  expect([storable, declared, Handlers, schemas]).toBeDefined();
});
