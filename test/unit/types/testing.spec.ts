import { expect, it } from '@jest/globals';
import type { INestApplication, Provider } from '@nestjs/common';
import type { Test, TestingModule } from '@nestjs/testing';
import {
  type ClearOptions,
  type DelayRun,
  DelayStub,
  type DelayStubOptions,
  DelayTesting,
  DelayTestingError,
  type ExpectedDelay,
  type OverridableModule,
  type PrepareOptions,
  provideDelayStub,
  type RunOutcome,
  type StubAnswer,
  type StubCall,
  type StubScheduled,
} from 'nestjs-delay-queue/testing';
import { fits, same } from '../../support/same-type.js';
import '../../support/delay-payloads.js';

async function makes(test: typeof Test, app: INestApplication) {
  const builder = DelayTesting.prepare(test.createTestingModule({}));
  const module: TestingModule = await builder.compile();
  fits<OverridableModule<typeof builder>>(builder);
  // @ts-expect-error -- nothing can be overridden in it
  fits<OverridableModule<object>>({ compile: () => module });
  fits<DelayTesting[]>([DelayTesting.of(app), DelayTesting.of(module)]);
  // @ts-expect-error -- what is not compiled has no services
  DelayTesting.of(builder);
  fits<typeof builder>(DelayTesting.prepare(builder, { worker: false }));
  // @ts-expect-error -- what runs by itself goes by no test's clock
  DelayTesting.prepare(builder, { worker: true });
  // @ts-expect-error -- it is too late for that
  DelayTesting.prepare(module);
  // @ts-expect-error -- of() makes one
  fits(new DelayTesting(app));
}

async function asks(testing: DelayTesting) {
  fits<number>((await testing.fire('test.a', '1')).payload.n);
  // @ts-expect-error -- a name that is not declared
  await testing.fire('tset.a', '1');
  // @ts-expect-error -- what fires has a key
  await testing.fire('test.a');
  await testing.expectScheduled('test.b', '1', { payload: { text: '' }, dueIn: 5_000 });
  // @ts-expect-error -- the payload of another name
  await testing.expectScheduled('test.b', '1', { payload: { n: 1 } });
  // @ts-expect-error -- an option that is not there
  await testing.expectScheduled('test.b', '1', { duein: '1h' });
  await testing.expectNotScheduled('test.a', '1');
  // @ts-expect-error -- what is not there has no payload
  await testing.expectNotScheduled('test.a', '1', { payload: { n: 1 } });
  fits<DelayRun[]>([...(await testing.advance('48h')), ...(await testing.drain())]);
  // @ts-expect-error -- no span
  await testing.advance();
  fits<DelayRun[]>(await testing.advanceTo(new Date()));
  // @ts-expect-error -- an instant, no span
  await testing.advanceTo('48h');
  // @ts-expect-error -- time does not pass
  await testing.drain('1h');
  await testing.clear();
  await testing.clear({ now: new Date() });
  // @ts-expect-error -- a Date, as `at`
  await testing.clear({ now: Date.now() });
  // @ts-expect-error -- all there is
  await testing.clear('test.a');
  fits<() => void>(testing.onTime((now) => void fits<Date>(now)));
  // @ts-expect-error -- a Date
  testing.onTime((now: number) => void now);
  fits<Date>(testing.now());
  // @ts-expect-error -- milliseconds are those of a Date
  fits<number>(testing.now());
}

function stands(module: TestingModule) {
  fits<Provider[]>(provideDelayStub());
  fits<DelayStubOptions>({ payloadBytesMax: 1_000 });
  // @ts-expect-error -- it runs nothing
  fits<DelayStubOptions>({ concurrency: 1 });
  // @ts-expect-error -- it runs nothing
  provideDelayStub({ worker: false });
  const stub = module.get(DelayStub);
  // @ts-expect-error -- provideDelayStub makes one
  fits<DelayStub>({ calls: [] });
  same<(typeof stub)['calls'], readonly StubCall[]>(true);
  fits<StubScheduled<'test.a'>[]>(stub.scheduled('test.a'));
  fits<number | undefined>(stub.scheduled('test.a')[0]?.payload.n);
  // @ts-expect-error -- a name that is not declared
  stub.scheduled('tset.a');
  same<StubScheduled<'test.a'>['payload'], { n: number }>(true);
  fits<StubAnswer[]>(['running', new Error('no connection')]);
  // @ts-expect-error -- no verdict
  fits<StubAnswer>('gone');
  stub.answerNext('test.a', '1', 'running');
  // @ts-expect-error -- no verdict
  stub.answerNext('test.a', '1', 'gone');
  stub.reset();
  // @ts-expect-error -- of all there is
  stub.reset('test.a');
}

function parts() {
  type Gone = 'completed' | 'superseded' | 'dead' | 'lost';
  same<RunOutcome, Gone | 'retrying' | 'postponed' | 'split' | 'released' | 'aborted'>(true);
  same<DelayRun['outcome'], RunOutcome>(true);
  same<DelayRun['at'], Date>(true);
  same<ClearOptions['now'], Date | undefined>(true);
  same<PrepareOptions['worker'], 'manual' | false | undefined>(true);
  same<DelayRun<'test.a'>['payload'], { n: number }>(true);
  same<ExpectedDelay<'test.a'>['payload'], { n: number } | undefined>(true);
  fits<'DELAY_TESTING'>(new DelayTestingError('why').code);
  // @ts-expect-error -- it says why
  fits(new DelayTestingError(new Error('why')));
}

it('what DelayTesting takes and answers, by `tsc`', () => {
  expect([makes, asks, stands, parts]).toBeDefined();
});
