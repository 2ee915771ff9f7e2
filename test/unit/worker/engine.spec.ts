import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DelayEvents } from 'nestjs-delay-queue';
import { Engine } from '../../../src/delay-queue/core/engine/engine.js';

/** An application has a second from its first delay to its hooks. */
const HOOKS_WITHIN_MS = 1_000;

let advice: string[];

function engineOf(worker: boolean): Engine {
  const events = new DelayEvents();
  events.on('advice', ({ message }) => advice.push(message));
  const options = { worker, autorun: true } as never;
  return new Engine(options, {} as never, {} as never, {} as never, events);
}

beforeEach(() => {
  jest.useFakeTimers();
  advice = [];
});

afterEach(() => {
  jest.useRealTimers();
});

it('delays of an application whose hooks are not called are said to have no handler, once', () => {
  const engine = engineOf(true);
  for (let delays = 0; delays < 3; delays += 1) engine.scheduled();
  jest.advanceTimersByTime(HOOKS_WITHIN_MS - 1);
  expect(advice).toEqual([]);
  engine.scheduled();
  jest.advanceTimersByTime(HOOKS_WITHIN_MS);
  expect(advice).toEqual([
    expect.stringContaining('the hooks of this application were not called'),
  ]);
});

it.each<[string, boolean, (engine: Engine) => void]>([
  [
    'before',
    true,
    (engine) => {
      engine.hooksAreCalled();
      engine.scheduled();
    },
  ],
  [
    'after',
    true,
    (engine) => {
      engine.scheduled();
      engine.hooksAreCalled();
    },
  ],
  ['never, on a node without a worker', false, (engine) => engine.scheduled()],
])('nothing is said where hooks are called %s', (_, worker, acts) => {
  acts(engineOf(worker));
  jest.advanceTimersByTime(10 * HOOKS_WITHIN_MS);
  expect(advice).toEqual([]);
});
