import { expect, it } from '@jest/globals';
import * as library from 'nestjs-delay-queue';
import * as testing from 'nestjs-delay-queue/testing';

const classes = Object.entries({ ...library, ...testing }).filter(
  ([, exported]) =>
    typeof exported === 'function' &&
    exported.prototype instanceof Error &&
    exported !== library.DelayError,
);

/** As a minifier leaves it. */
function renamed(exported: unknown): Error {
  class O extends (exported as new (...given: unknown[]) => Error) {}
  return new O(exported === library.DelayPayloadError ? [] : '1h', '1h');
}

it.each(classes)(
  '%s is the name of its errors, whatever a minifier makes of the class',
  (name, exported) => {
    expect(renamed(exported).name).toBe(name);
  },
);

it('there are all of them', () => {
  expect(classes.length).toBeGreaterThan(20);
});
