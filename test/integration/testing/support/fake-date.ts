import { jest } from '@jest/globals';

/** `Date` stands at that instant, and nothing else is faked. */
export const fakeDate = (now: Date): void =>
  void jest.useFakeTimers({
    now,
    doNotFake: [
      'hrtime',
      'nextTick',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'clearImmediate',
      'setInterval',
      'clearInterval',
      'setTimeout',
      'clearTimeout',
    ],
  });
