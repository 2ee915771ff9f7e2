import { describe, expect, it } from '@jest/globals';
import type { Delay, DelayService, NotStorable, PayloadOf, Storable } from 'nestjs-delay-queue';

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

/** True only of one and the same type. */
// oxlint-disable typescript/no-unnecessary-type-parameters -- how one asks the compiler
type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(answer: Same<A, B>): boolean => answer;
// oxlint-enable typescript/no-unnecessary-type-parameters

/** `tsc` is the judge, as in `types.spec.ts`. */
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
});
