import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import {
  checkKey,
  checkMaxAttempts,
  checkName,
  checkOnConflict,
  checkSchema,
} from '../../../src/delay-queue/validation/names.js';

const NOT_TEXT = [undefined, null, 42, 42n, true, {}, [], ['a'], Symbol('a'), new String('a')];

describe('checkName', () => {
  it.each(['a', '7', 'order.close', 'a:b/c_d-e.F', 'x'.repeat(100)])('accepts %p', (name) => {
    expect(checkName(name)).toBe(name);
  });

  it.each([...NOT_TEXT, '', '.a', '-a', 'a b', 'a\n', 'ä', 'a\0', "a'; DROP", 'x'.repeat(101)])(
    'refuses %p',
    (name) => {
      expect(() => checkName(name)).toThrow(DelayInvalidError);
      expect(() => checkName(name)).toThrow(/^name: must be a text like 'order.close'/);
    },
  );
});

describe('checkKey', () => {
  it.each(['1', ' ', '💥', "'; DROP TABLE orders; --", 'x'.repeat(255), '__proto__', '\u0001'])(
    'accepts %p as it is',
    (key) => {
      expect(checkKey(key)).toBe(key);
    },
  );

  it.each([...NOT_TEXT, '', 'x'.repeat(256), '💥'.repeat(128), 'a\0b', '\uD800', 'a\uDC00'])(
    'refuses %p',
    (key) => {
      expect(() => checkKey(key)).toThrow(DelayInvalidError);
    },
  );

  it('does not take a number for a text', () => {
    expect(() => checkKey(42)).toThrow('key: must be a text, not 42');
  });

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

describe('checkMaxAttempts', () => {
  it('accepts 1 to 1,000', () => {
    expect([checkMaxAttempts(1), checkMaxAttempts(1_000)]).toEqual([1, 1_000]);
  });

  it.each([0, -1, 1_001, 1.5, NaN, Infinity, '3', null, undefined, 3n])('refuses %p', (value) => {
    expect(() => checkMaxAttempts(value)).toThrow(
      /^maxAttempts: must be a whole number from 1 to 1000/,
    );
  });
});

describe('checkOnConflict', () => {
  it.each(['replace', 'keep', 'error'])('accepts %p', (choice) => {
    expect(checkOnConflict(choice)).toBe(choice);
  });

  it.each(['Replace', '', 'ignore', null, 0, 'toString'])('refuses %p', (choice) => {
    expect(() => checkOnConflict(choice)).toThrow("must be 'replace', 'keep' or 'error'");
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
