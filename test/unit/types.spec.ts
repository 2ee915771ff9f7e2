import { describe, expect, it } from '@jest/globals';
import {
  type Delay,
  type DelayBatchContext,
  type DelayContext,
  type DelayFilter,
  type DelayName,
  type DelayRepeat,
  type DelayService,
  type Due,
  type Duration,
  type DurationText,
  type NotStorable,
  OnDelay,
  type PayloadOf,
  type ScheduleItem,
  type Storable,
  type TransactionalDelayBatchContext,
  type TransactionalDelayContext,
  type When,
} from 'nestjs-delay-queue';
import { onDelayMetadata } from '../../src/delay-queue/handlers/on-delay.decorator.js';
import '../support/delay-payloads.js';

/**
 * `tsc` is the judge here: each `@ts-expect-error` is a line that must not compile, and one that
 * does compile fails the type check. The assertions only keep the classes in use.
 */
describe('types of @OnDelay', () => {
  it('a plain handler takes the payload of its name, and may leave arguments out', () => {
    class Handlers {
      @OnDelay('test.a')
      whole(delay: Delay<'test.a'>, ctx: DelayContext): void {
        expect([delay.payload.n.toFixed(), ctx.signal]).toBeDefined();
      }

      @OnDelay('test.b', { concurrency: 5, timeout: '10s', backoff: (attempt) => attempt * 1_000 })
      async noContext(delay: Delay<'test.b'>): Promise<void> {
        await Promise.resolve(delay.payload.text.length);
      }

      @OnDelay('test.anything', { transactional: false, backoff: { base: '5s' } })
      nothing(): void {}

      @OnDelay('test.a')
      @OnDelay('test.b')
      both(delay: Delay<'test.a' | 'test.b'>): void {
        expect(delay.name === 'test.a').toBeDefined();
      }
    }
    expect(onDelayMetadata(Handlers.prototype, 'both').map(({ name }) => name)).toEqual([
      'test.a',
      'test.b',
    ]);
  });

  it('a transactional handler gets a manager, a plain one does not', () => {
    class Handlers {
      @OnDelay('test.a', { transactional: true })
      right(delay: Delay<'test.a'>, { manager }: TransactionalDelayContext): void {
        expect([delay, manager]).toBeDefined();
      }

      @OnDelay('test.a', { transactional: true })
      needsNoManager(_delay: Delay<'test.a'>, _ctx: DelayContext): void {}

      // @ts-expect-error -- without `transactional: true` there is no manager
      @OnDelay('test.a')
      wrong(_delay: Delay<'test.a'>, _ctx: TransactionalDelayContext): void {}

      // @ts-expect-error -- nor with `transactional: false`
      @OnDelay('test.a', { transactional: false })
      wrongToo(_delay: Delay<'test.a'>, _ctx: TransactionalDelayContext): void {}
    }
    expect(Handlers).toBeDefined();
  });

  it('a batch handler takes a list, and a context that says something of one delay', () => {
    class Handlers {
      @OnDelay('test.a', { batch: 5 })
      right(delays: Delay<'test.a'>[], ctx: DelayBatchContext): void {
        for (const delay of delays) ctx.fail(delay, delay.payload.n.toFixed());
      }

      @OnDelay('test.a', { batch: 5, transactional: true })
      async fenced([first]: Delay<'test.a'>[], ctx: TransactionalDelayBatchContext): Promise<void> {
        await ctx.manager.query('');
        if (first) ctx.postpone(first, '5m');
      }

      @OnDelay('test.a', { batch: 5, transactional: true })
      readsOnly(_delays: readonly Delay<'test.a'>[], _ctx: DelayContext): void {}

      @OnDelay('test.a', { batch: 5, concurrency: 2, timeout: '10s', backoff: { base: '5s' } })
      nothing(): void {}

      // @ts-expect-error -- with `batch` it gets a list
      @OnDelay('test.a', { batch: 5 })
      single(_delay: Delay<'test.a'>): void {}

      // @ts-expect-error -- in a transaction, too
      @OnDelay('test.a', { batch: 5, transactional: true })
      fencedSingle(_delay: Delay<'test.a'>, _ctx: TransactionalDelayContext): void {}

      // @ts-expect-error -- without `batch` it gets a single delay
      @OnDelay('test.a')
      list(_delays: Delay<'test.a'>[]): void {}

      // @ts-expect-error -- and nothing to say of one
      @OnDelay('test.a')
      says(_delay: Delay<'test.a'>, _ctx: DelayBatchContext): void {}

      // @ts-expect-error -- without `transactional: true` there is no manager
      @OnDelay('test.a', { batch: 5 })
      noManager(_delays: Delay<'test.a'>[], _ctx: TransactionalDelayBatchContext): void {}

      // @ts-expect-error -- the payload of another name
      @OnDelay('test.a', { batch: 5 })
      otherName(_delays: Delay<'test.b'>[]): void {}

      // @ts-expect-error -- a text is no number of delays
      @OnDelay('test.a', { batch: '5' })
      text(_delays: Delay<'test.a'>[]): void {}
    }
    expect(Handlers).toBeDefined();
  });

  it('a method of another payload, name, shape or result does not compile', () => {
    class Handlers {
      // @ts-expect-error -- the payload of another name
      @OnDelay('test.a')
      otherName(_delay: Delay<'test.b'>): void {}

      // @ts-expect-error -- a payload that asks for more than is declared
      @OnDelay('test.a')
      otherPayload(_delay: { payload: { n: number; more: string } }): void {}

      // @ts-expect-error -- the payload instead of the delay
      @OnDelay('test.a')
      payloadOnly(_payload: { n: number }): void {}

      // @ts-expect-error -- a third argument that nobody gives
      @OnDelay('test.a')
      third(_delay: Delay<'test.a'>, _ctx: DelayContext, _more: string): void {}

      // @ts-expect-error -- a result that nobody takes
      @OnDelay('test.a')
      result(_delay: Delay<'test.a'>): number {
        return 1;
      }

      // @ts-expect-error -- a name that is not declared
      @OnDelay('nobody.declared.this')
      unknownName(): void {}

      // @ts-expect-error -- an option that does not exist
      @OnDelay('test.a', { retries: 3 })
      unknownOption(): void {}
    }
    expect(Handlers).toBeDefined();
  });
});

describe('types of names, payloads and times', () => {
  it('augmentation of nestjs-delay-queue declares names and payloads', () => {
    const name: DelayName = 'test.a';
    const payload: PayloadOf<'test.a'> = { n: 1 };
    // @ts-expect-error -- not the payload of that name
    const wrong: PayloadOf<'test.a'> = { text: '' };
    // @ts-expect-error -- not a declared name
    const typo: DelayName = 'tset.a';
    expect([name, payload, wrong, typo]).toHaveLength(4);
  });

  it('an item of scheduleMany couples name, payload and one due time', () => {
    const items: ScheduleItem[] = [
      { name: 'test.a', payload: { n: 1 }, after: '30m', key: '1' },
      { name: 'test.b', payload: { text: '' }, at: new Date() },
      // @ts-expect-error -- two due times
      { name: 'test.b', payload: { text: '' }, at: new Date(), after: 5 },
    ];
    const foreign: ScheduleItem<'test.a'> = {
      name: 'test.a',
      // @ts-expect-error -- the payload of another name
      payload: { text: '' },
      after: 1,
    };
    expect([...items, foreign]).toHaveLength(4);
  });

  it('a duration is a number or any text, which is read when it is used', () => {
    const configured: string = process.env['NOBODY_SETS_THIS'] ?? '30m';
    const right: Duration[] = [250, '90s', '30 minutes', '14d', configured];
    // @ts-expect-error -- neither a number nor a text
    const wrong: Duration = new Date();
    // @ts-expect-error -- no such unit
    const unit: DurationText = '30x';
    // @ts-expect-error -- a text says its unit
    const bare: DurationText = '60';
    // @ts-expect-error -- no due time at all
    const when: When = {};
    expect([...right, wrong, unit, bare, when]).toHaveLength(9);
  });

  it('what recurs has a key, and one interval', () => {
    const right: Due[] = [
      { repeat: { every: '1h' }, key: 'k' },
      { repeat: { cron: '0 3 * * *', timeZone: 'UTC', catchUp: 'each' }, key: 'k', after: '1m' },
      { repeat: { every: 1, catchUp: 'each' } as DelayRepeat, key: 'k', at: new Date(0) },
    ];
    // @ts-expect-error -- no key
    const keyless: Due = { repeat: { every: '1h' } };
    // @ts-expect-error -- no key, beside a first time
    const keylessToo: Due = { repeat: { every: '1h' }, after: 0 };
    // @ts-expect-error -- no interval
    const never: Due = { repeat: {}, key: 'k' };
    // @ts-expect-error -- two of them
    const twice: Due = { repeat: { every: '1h', cron: '* * * * *' }, key: 'k' };
    // @ts-expect-error -- a zone without a wall clock
    const zone: Due = { repeat: { every: '1h', timeZone: 'UTC' }, key: 'k' };
    // @ts-expect-error -- of many due times none is the earlier one
    const earlier: Due = { repeat: { every: '1h' }, key: 'k', onConflict: 'earlier' };
    const items: ScheduleItem<'test.a'>[] = [
      { name: 'test.a', payload: { n: 1 }, key: 'k', repeat: { every: '1h' } },
      { name: 'test.a', payload: { n: 1 }, key: 'k', repeat: { every: '1h' }, after: '1m' },
      // @ts-expect-error -- no key
      { name: 'test.a', payload: { n: 1 }, repeat: { every: '1h' } },
    ];
    const all = [...right, keyless, keylessToo, never, twice, zone, earlier, ...items];
    expect(all).toHaveLength(12);
  });
});

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

describe('types of filters', () => {
  it('headers are texts by name', () => {
    const filters: DelayFilter[] = [
      { headers: { campaign: 'autumn', 'x-trace': '' } },
      // @ts-expect-error -- a number
      { headers: { campaign: 7 } },
      // @ts-expect-error -- a list of words
      { headers: ['autumn'] },
      // @ts-expect-error -- the name that other libraries have for them
      { tags: ['autumn'] },
    ];
    expect(filters).toHaveLength(4);
  });
});
