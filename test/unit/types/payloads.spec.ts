import { describe, expect, it } from '@jest/globals';
import type {
  Delay,
  DelayName,
  DelayPayloads,
  DelayService,
  GivenPayload,
  NotStorable,
  ParsedPayloadOf,
  ParsedPayloads,
  PayloadOf,
  PlainJson,
  Storable,
  StorableMembers,
  StorableParts,
  StorablePayloads,
} from 'nestjs-delay-queue';
import { same } from '../../support/same-type.js';
import '../../support/delay-payloads.js';

declare module 'nestjs-delay-queue' {
  interface DelayPayloads {
    'types.unfit': { at: Date; id: string };
    'types.optional': { id: string; note?: string };
    'types.interface': Basket;
  }
}

interface Basket {
  readonly lines: readonly { sku: string; quantity: number }[];
  parent: Basket | null;
}

type JsonValue = string | number | boolean | null | JsonValue[] | { [member: string]: JsonValue };

/** `tsc` is the judge, as in `handlers.spec.ts`. */
describe('types of payloads', () => {
  it('plain JSON stays the type that it is', () => {
    expect([
      same<Storable<Basket>, Basket>(true),
      same<PayloadOf<'types.interface'>, Basket>(true),
      same<Storable<JsonValue>, JsonValue>(true),
      same<Storable<unknown>, unknown>(true),
      same<Storable<{ id: string; note?: string }>, { id: string; note?: string }>(true),
      same<Storable<[id: string, quantity?: number]>, [id: string, quantity?: number]>(true),
      same<Storable<string & { brand: 'sku' }>, string & { brand: 'sku' }>(true),
    ]).not.toContain(false);
  });

  it('what JSON does not have says why it cannot be stored, at any depth', () => {
    expect([
      same<Storable<{ at: Date }>['at'], NotStorable<'a Date: send date.toISOString()'>>(true),
      same<Storable<{ on?: () => void }>['on'], NotStorable<'a function'> | undefined>(true),
      same<Storable<{ n: bigint }[]>[0]['n'], NotStorable<'a bigint: send it as a string'>>(true),
      same<
        Storable<{ maybe: string | undefined }>['maybe'],
        string | NotStorable<'undefined: leave it out or send null'>
      >(true),
    ]).not.toContain(false);
    // @ts-expect-error -- a Set
    const set: Storable<{ tags: Set<string> }> = { tags: new Set() };
    // @ts-expect-error -- a Map
    const map: Storable<{ prices: Map<string, number> }> = { prices: new Map() };
    // @ts-expect-error -- a symbol
    const symbol: Storable<{ kind: symbol }> = { kind: Symbol.iterator };
    // @ts-expect-error -- a class with methods
    const instance: Storable<URL> = new URL('http://localhost');
    expect([set, map, symbol, instance]).toHaveLength(4);
  });

  it('schedule refuses what a declared payload may not hold', () => {
    const calls = [
      (delays: DelayService, at: Date) =>
        // @ts-expect-error -- the declaration has a Date
        delays.schedule('types.unfit', { at, id: '1' }, { after: '1s' }),
      (delays: DelayService) =>
        // @ts-expect-error -- a member that is not declared
        delays.schedule('types.optional', { id: '1', more: 2 }, { after: '1s' }),
      (delays: DelayService, basket: Basket, after: string) =>
        delays.schedule('types.interface', basket, { after }),
      ({ payload }: Delay<'types.interface'>): Basket => payload,
      (delays: DelayService) => delays.schedule('types.optional', { id: '1' }, { after: '1s' }),
    ];
    expect(calls).toHaveLength(5);
  });

  it('augmentation of nestjs-delay-queue declares names and payloads', () => {
    const name: DelayName = 'test.a';
    const payload: PayloadOf<'test.a'> = { n: 1 };
    // @ts-expect-error -- not the payload of that name
    const wrong: PayloadOf<'test.a'> = { text: '' };
    // @ts-expect-error -- not a declared name
    const typo: DelayName = 'tset.a';
    expect([name, payload, wrong, typo]).toHaveLength(4);
  });

  it('each part has a name, for messages of the compiler that one can read', () => {
    expect([
      same<StorableParts<{ at: Date }>, StorableMembers<{ at: Date }>>(true),
      same<StorableMembers<{ n: number }>['n'], number>(true),
      same<StorablePayloads['test.a'], { n: number }>(true),
      same<DelayPayloads['test.a'], { n: number }>(true),
      same<GivenPayload<'test.a', unknown>, { n: number }>(true),
      same<ParsedPayloadOf<'types.optional'>, PayloadOf<'types.optional'>>(true),
      same<ParsedPayloads['types.parsed'], { at: Date }>(true),
    ]).not.toContain(false);
    const json: PlainJson = { list: [1, 'a', null, { deep: true }] };
    // @ts-expect-error -- no JSON
    const notJson: PlainJson = { maybe: undefined };
    // @ts-expect-error -- a Date has to be sent as a text
    const parts: StorableParts<Date> = new Date();
    // @ts-expect-error -- as a member, too
    const members: StorableMembers<{ at: Date }> = { at: new Date() };
    // @ts-expect-error -- of all that is declared
    const payloads: StorablePayloads['types.unfit']['at'] = new Date();
    // @ts-expect-error -- no such name
    const declared: DelayPayloads['nobody.declared.this'] = null;
    // @ts-expect-error -- what is declared, whatever is given
    const given: GivenPayload<'test.a', string> = 'text';
    // @ts-expect-error -- what the schema makes of it
    const parsedOf: ParsedPayloadOf<'types.parsed'> = { at: '2026-01-01' };
    // @ts-expect-error -- the same
    const parsed: ParsedPayloads['types.parsed'] = { at: '2026-01-01' };
    // @ts-expect-error -- no value has this type
    const reason: NotStorable<'a Date'> = new Date();
    expect([json, notJson, parts, members, payloads, declared, given]).toHaveLength(7);
    expect([parsedOf, parsed, reason]).toHaveLength(3);
  });
});
