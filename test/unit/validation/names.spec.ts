import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import { checkKey, checkName, checkSchema } from '../../../src/delay-queue/validation/names.js';

/** Names and keys that are refused stand in `test/hostile/corpus/names-and-keys.ts`. */
const NOT_TEXT = [undefined, null, 42, 42n, true, {}, [], ['a'], Symbol('a'), new String('a')];

describe('checkName', () => {
  it.each(['a', '7', 'order.close', 'a:b/c_d-e.F', 'x'.repeat(100)])('accepts %p', (name) => {
    expect(checkName(name)).toBe(name);
  });
});

describe('checkKey', () => {
  it.each(['1', ' ', '💥', "'; DROP TABLE orders; --", 'x'.repeat(255), '__proto__', '\u0001'])(
    'accepts %p as it is',
    (key) => {
      expect(checkKey(key)).toBe(key);
    },
  );

  it('accepts exactly what UTF-8 can carry there and back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 255 }), (key) => {
        const survives =
          Buffer.from(key).toString() === key && !key.includes('\0') && key.length <= 255;
        expect(isAccepted(() => checkKey(key))).toBe(survives);
      }),
    );
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.string({ unit, minLength: 1, maxLength: 4 }), (key) => {
        const survives = Buffer.from(key).toString() === key && !key.includes('\0');
        expect(isAccepted(() => checkKey(key))).toBe(survives);
      }),
    );
  });
});

describe('checkSchema', () => {
  it.each(['delay_queue', '_', 'a1', 'x'.repeat(48)])('accepts %p', (schema) => {
    expect(checkSchema(schema)).toBe(schema);
  });

  it.each([...NOT_TEXT, '', '1a', 'A', 'a-b', 'a"b', 'a.b', 'a;', 'a\n', 'x'.repeat(49)])(
    'refuses %p',
    (schema) => {
      expect(() => checkSchema(schema)).toThrow(DelayInvalidError);
    },
  );
});

function isAccepted(check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof DelayInvalidError) return false;
    throw error;
  }
}
