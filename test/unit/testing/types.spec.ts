import { describe, expect, it } from '@jest/globals';
import type { Test, TestingModule } from '@nestjs/testing';
import type { INestApplication } from '@nestjs/common';
import { DelayTesting, type DelayRun } from 'nestjs-delay-queue/testing';
import '../../support/delay-payloads.js';

/** As in `types.spec.ts`, `tsc` is the judge. */
describe('types of DelayTesting', () => {
  it('knows the names and their payloads', () => {
    expect(asks).toBeInstanceOf(Function);
  });

  it('takes applications and modules, and answers the builder that it takes', () => {
    expect(makes).toBeInstanceOf(Function);
  });
});

async function makes(test: typeof Test, app: INestApplication) {
  const builder = DelayTesting.prepare(test.createTestingModule({}));
  const module: TestingModule = await builder.compile();
  // @ts-expect-error -- what is not compiled has no services
  DelayTesting.of(builder);
  // @ts-expect-error -- it is too late for that
  DelayTesting.prepare(module);
  // @ts-expect-error -- of() makes one
  return [DelayTesting.of(app), DelayTesting.of(module), new DelayTesting(app)];
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
  // @ts-expect-error -- no span
  await testing.advance();
  // @ts-expect-error -- no duration
  await testing.advance({ after: '1h' });
  // @ts-expect-error -- of the class itself
  testing.prepare();
}
