import { describe, expect, it } from '@jest/globals';
import type { Test, TestingModule } from '@nestjs/testing';
import type { INestApplication } from '@nestjs/common';
import {
  DelayTesting,
  type DelayRun,
  DelayTestingError,
  type ExpectedDelay,
  type OverridableModule,
  type RunOutcome,
} from 'nestjs-delay-queue/testing';
import '../../support/delay-payloads.js';

/** As in `handlers.spec.ts`, `tsc` is the judge. */
describe('types of DelayTesting', () => {
  it('knows the names and their payloads', () => {
    expect(asks).toBeInstanceOf(Function);
  });

  it('says how an attempt ended', () => {
    const outcome: RunOutcome = 'superseded';
    // @ts-expect-error -- a state, not an outcome
    const scheduled: RunOutcome = 'scheduled';
    // @ts-expect-error -- the payload of another name
    const run = (ran: DelayRun<'test.a'>) => ran.payload.text;
    const expected: ExpectedDelay<'test.a'> = { dueIn: '1h', payload: { n: 1 } };
    // @ts-expect-error -- the payload of another name
    const other: ExpectedDelay<'test.a'> = { payload: { text: '' } };
    // @ts-expect-error -- it says why
    const error = new DelayTestingError(new Error('why'));
    const code: 'DELAY_TESTING' = new DelayTestingError('why').code;
    expect([outcome, scheduled, run, expected, other, error, code]).toHaveLength(7);
  });

  it('takes applications and modules, and answers the builder that it takes', () => {
    expect(makes).toBeInstanceOf(Function);
  });
});

async function makes(test: typeof Test, app: INestApplication) {
  const builder = DelayTesting.prepare(test.createTestingModule({}));
  const module: TestingModule = await builder.compile();
  // @ts-expect-error -- nothing can be overridden in it
  const closed: OverridableModule<object> = { compile: () => module };
  const open: OverridableModule<typeof builder> = builder;
  // @ts-expect-error -- what is not compiled has no services
  DelayTesting.of(builder);
  // @ts-expect-error -- it is too late for that
  DelayTesting.prepare(module);
  // @ts-expect-error -- of() makes one
  return [open, closed, DelayTesting.of(app), DelayTesting.of(module), new DelayTesting(app)];
}

async function asks(testing: DelayTesting) {
  const fired = await testing.fire('test.a', '1');
  expect(fired.payload.n.toFixed()).toBeDefined();
  await testing.expectScheduled('test.b', '1', { payload: { text: '' }, dueIn: 5_000 });
  const ran: DelayRun[] = await testing.advance('48h');
  expect(ran.map(({ id, key, attempt, outcome }) => [id, key, attempt, outcome])).toBeDefined();
  // @ts-expect-error -- a name that is not declared
  await testing.fire('tset.a', '1');
  // @ts-expect-error -- what fires has a key
  await testing.fire('test.a');
  // @ts-expect-error -- the payload of another name
  await testing.expectScheduled('test.b', '1', { payload: { n: 1 } });
  // @ts-expect-error -- an option that is not there
  await testing.expectScheduled('test.b', '1', { duein: '1h' });
  const drained: DelayRun[] = await testing.drain();
  // @ts-expect-error -- time does not pass
  await testing.drain('1h');
  await testing.expectNotScheduled('test.a', '1');
  // @ts-expect-error -- what is not there has no payload
  await testing.expectNotScheduled('test.a', '1', { payload: { n: 1 } });
  await testing.clear();
  // @ts-expect-error -- all there is
  await testing.clear('test.a');
  const now: Date = testing.now();
  // @ts-expect-error -- milliseconds are those of a Date
  const nowMs: number = testing.now();
  expect([drained, now, nowMs]).toBeDefined();
  // @ts-expect-error -- no span
  await testing.advance();
  // @ts-expect-error -- no duration
  await testing.advance({ after: '1h' });
  // @ts-expect-error -- of the class itself
  testing.prepare();
}
