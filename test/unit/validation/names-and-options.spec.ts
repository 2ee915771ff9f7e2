import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  DelayConfigError,
  DelayInvalidError,
} from '../../../src/delay-queue/delay/delay.errors.js';
import { checkKey, checkName, checkSchema } from '../../../src/delay-queue/validation/names.js';
import { atStart, within } from '../../../src/delay-queue/validation/blame.js';
import {
  parseScheduleItem,
  parseScheduleOptions,
} from '../../../src/delay-queue/validation/schedule-options.js';

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

/** What is refused stands in `test/hostile/corpus/options.ts`. */
describe('parseScheduleOptions', () => {
  it('fills in what is left out', () => {
    expect(parseScheduleOptions({ after: '5s' })).toEqual({
      to: { kind: 'after', ms: 5_000 },
      repeat: null,
      key: null,
      onConflict: 'replace',
      maxWaitMs: null,
      maxAttempts: null,
      group: null,
      headers: null,
    });
  });

  it('takes everything that may be said', () => {
    const manager = {};
    expect(
      parseScheduleOptions({
        at: new Date(7),
        key: '42',
        onConflict: 'keep',
        maxAttempts: 3,
        group: 'shop-7',
        headers: { traceparent: '00-4b-00f0-01' },
        manager,
      }),
    ).toEqual({
      to: { kind: 'at', iso: '1970-01-01T00:00:00.007Z' },
      repeat: null,
      key: '42',
      onConflict: 'keep',
      maxWaitMs: null,
      maxAttempts: 3,
      group: 'shop-7',
      headers: '{"traceparent":"00-4b-00f0-01"}',
    });
  });

  it('takes how it recurs, and counts from now what has no first time', () => {
    const hourly = { every: 3_600_000, catchUp: 'latest' } as const;
    expect(parseScheduleOptions({ repeat: { every: '1h' }, key: 'k' })).toMatchObject({
      to: { kind: 'after', ms: 3_600_000 },
      repeat: { how: hourly, hasFirst: false },
    });
    expect(parseScheduleOptions({ repeat: hourly, key: 'k', after: 0 })).toMatchObject({
      to: { kind: 'after', ms: 0 },
      repeat: { how: hourly, hasFirst: true },
    });
  });

  it('an item of scheduleMany has a name and a payload, but no manager', () => {
    const item = parseScheduleItem({ name: 'a', payload: {}, after: 1 });
    expect(item).toMatchObject({ name: 'a', payload: {}, options: { key: null } });
    expect(() => parseScheduleItem({ after: 1, manager: {} })).toThrow(DelayInvalidError);
    expect(() => parseScheduleOptions({ after: 1, name: 'a' })).toThrow(DelayInvalidError);
  });
});

describe('blame', () => {
  it('within puts the part before the field', () => {
    expect(() => within('items[3]', refuse)).toThrow('items[3].key: must be a text');
    expect(() => within('items[3]', refuse)).toThrow(DelayInvalidError);
  });

  it('atStart makes a configuration error of it and says whose', () => {
    expect(() => atStart('DelayQueueModule', refuse)).toThrow(
      new DelayConfigError('DelayQueueModule: key: must be a text'),
    );
  });
});

function refuse(): never {
  throw new DelayInvalidError('key', 'must be a text');
}
