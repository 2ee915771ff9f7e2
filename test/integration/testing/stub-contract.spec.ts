import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import * as fc from 'fast-check';
import { DelayError, DelayService } from 'nestjs-delay-queue';
import { provideDelayStub } from 'nestjs-delay-queue/testing';
import { OneNode } from '../../support/one-node.js';

/** The same random program against Postgres and against the stand-in for unit tests. */
const NAMES = ['test.a', 'test.stub'] as const;
const KEYS = ['1', '2'];
const ALL = NAMES.flatMap((each) => KEYS.map((by) => [each, by] as const));
const node = new OneNode({ options: { worker: false } });

const at = (hours: number): Date => new Date(Date.UTC(2040, 0, 1, hours));
/** Keys are taken often, and instants meet. */
const name = fc.constantFrom(...NAMES, 'test.a', 'test.a');
const key = fc.constantFrom(...KEYS);
const hours = fc.integer({ min: 0, max: 1 });
const payload = fc.record({ n: fc.integer() });
const onConflict = fc.constantFrom('replace', 'keep', 'error', 'earlier', 'later');
const when = hours.map((hour) => ({ at: at(hour) }));
const once = fc
  .tuple(when, fc.record({ onConflict, maxAttempts: fc.integer({ min: 0, max: 3 }) }), hours)
  .map(([due, options, group]) => ({ ...due, ...options, group: `g${group}` }));
const recurring = fc.record({
  repeat: fc.constantFrom({ every: '1h' }, { every: '2h' }, { cron: '0 9 * * *', timeZone: 'UTC' }),
  onConflict: fc.constantFrom('replace', 'keep', 'error'),
});
const options = fc.oneof(
  { weight: 4, arbitrary: once },
  recurring,
  fc.tuple(recurring, when).map(([how, due]) => ({ ...how, ...due })),
  fc.constantFrom(
    { after: 'soon' },
    { atfer: '1h' },
    { at: at(1), after: '1h' },
    { manager: null, at: at(1) },
  ),
);
const to = fc.oneof(
  when,
  hours.map((hour) => ({ extendBy: `${hour}h` })),
  fc.constant({ after: '1h', extendBy: '1h' }),
);

type Call = (delays: DelayService, ids: string[]) => Promise<unknown>;
const calls: fc.Arbitrary<{ text: string; call: Call }> = fc.oneof(
  {
    weight: 8,
    arbitrary: step(
      'schedule',
      fc.tuple(
        name,
        payload,
        fc.tuple(options, key).map(([given, of]) => ({ ...given, key: of })),
      ),
    ),
  },
  step('schedule', fc.tuple(name, payload, once)),
  step(
    'scheduleMany',
    fc
      .array(
        fc
          .tuple(name, payload, key, once)
          .map(([of, what, by, given]) => ({ name: of, payload: what, key: by, ...given })),
        { maxLength: 4 },
      )
      .map((items) => [items]),
  ),
  step('cancel', fc.tuple(name, key)),
  step(
    'cancelMany',
    fc.uniqueArray(fc.record({ name, key }), { maxLength: 3 }).map((list) => [list]),
  ),
  step('reschedule', fc.tuple(name, key, to)),
  step('rescheduleMany', fc.tuple(fc.uniqueArray(fc.record({ name, key }), { maxLength: 3 }), to)),
  step('retryDead', fc.tuple(name, key)),
  step('find', fc.tuple(name, key)),
);

function step(method: keyof DelayService, given: fc.Arbitrary<unknown[]>) {
  return given.map((args) => ({
    text: `${method}(${JSON.stringify(args).slice(1, -1)})`,
    call: (delays: DelayService) => Reflect.apply(delays[method], delays, args) as Promise<unknown>,
  }));
}

/** Ids by the order in which they came up, and no instant of either clock. */
async function told(call: Promise<unknown>, ids: string[]): Promise<unknown> {
  const answer = await call.catch((error: unknown) => {
    if (!(error instanceof DelayError)) throw error;
    return { code: error.code, message: error.message };
  });
  const number = (id: string): number => (ids.includes(id) ? ids.indexOf(id) : ids.push(id) - 1);
  return JSON.parse(
    JSON.stringify(answer, (field, value) => {
      if (field === 'id') return number(value as string);
      if (['createdAt', 'wakeAt', 'moveLog'].includes(field)) return undefined;
      // Of what recurs from now on: its first instant is the clock's.
      const isSoon = field === 'dueAt' && new Date(value as string) < at(-24);
      return isSoon ? 'soon' : value;
    }) ?? 'null',
  );
}

const standing = (delays: DelayService, ids: string[]): Promise<unknown[]> =>
  Promise.all(ALL.map(([each, by]) => told(delays.find(each, by), ids)));

it('answers what the service answers on Postgres, whatever is called', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(calls, { minLength: 10, maxLength: 25 }), async (program) => {
      await node.truncate('delay', 'history');
      const module = await Test.createTestingModule({ providers: provideDelayStub() }).compile();
      const idsOf = { real: [] as string[], stub: [] as string[] };
      for (const { text, call } of program) {
        const real = await told(call(node.delays, idsOf.real), idsOf.real);
        const stub = await told(call(module.get(DelayService), idsOf.stub), idsOf.stub);
        expect({ text, answer: stub }).toEqual({ text, answer: real });
        const stands = await standing(node.delays, idsOf.real);
        expect({ text, stands: await standing(module.get(DelayService), idsOf.stub) }).toEqual({
          text,
          stands,
        });
      }
      await module.close();
    }),
    { numRuns: 60 },
  );
});
