import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DelayInvalidError } from '../../../src/delay-queue/core/api/errors.js';
import { atStart, blamedOn } from '../../../src/delay-queue/core/config/refusals.js';
import { checkSchema } from '../../../src/delay-queue/core/config/options.js';
import { checkKey, checkName } from '../../../src/delay-queue/core/config/checks.js';
import {
  parseScheduleItem,
  parseScheduleOptions,
} from '../../../src/delay-queue/core/config/schedule-options.js';

function accepted(key: string): string | undefined {
  try {
    return checkKey(key);
  } catch (error) {
    if (error instanceof DelayInvalidError) return undefined;
    throw error;
  }
}

/** Names and keys that are refused stand in `test/hostile/corpus/names-and-keys.ts`. */
describe('what is accepted', () => {
  it.each(['7', 'a:b/c_d-e.F', 'x'.repeat(100)])('a name may be %p', (name) => {
    expect(checkName(name)).toBe(name);
  });

  it.each(['delay_queue', '_', 'a1', 'x'.repeat(48)])('a schema may be %p', (schema) => {
    expect(checkSchema(schema)).toBe(schema);
  });

  it('a key may be exactly what UTF-8 can carry there and back', () => {
    const longest = ['x'.repeat(255), 'x'.repeat(256)];
    expect(longest.map(accepted)).toEqual([longest[0], undefined]);
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const long = fc.string({ unit: 'binary', minLength: 1, maxLength: 255 });
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit, minLength: 1, maxLength: 4 }), long), (key) => {
        const survives = Buffer.from(key).toString() === key && !key.includes('\0');
        expect(accepted(key)).toBe(survives && key.length <= 255 ? key : undefined);
      }),
    );
  });
});

it.each([42, '', '1a', 'A', 'a-b', 'a"b', 'a\n', 'x'.repeat(49)])(
  'a schema cannot be %p',
  (schema) => {
    expect(() => checkSchema(schema)).toThrow('schema: must be 1 to 48 lower-case letters');
  },
);

const reruns = (running: unknown, more: object = { key: 'k' }): boolean =>
  parseScheduleOptions({ after: 1, running, ...more }).reruns;

const longest = (maxWait: string) => parseScheduleOptions({ after: '5s', maxWait, key: 'k' });

/** What is refused stands in `test/hostile/corpus/options.ts`. */
describe('options of schedule', () => {
  const DEFAULTS = {
    to: { kind: 'after', ms: 5_000 },
    repeat: null,
    key: null,
    onConflict: 'replace',
    maxWaitMs: null,
    reruns: false,
    maxAttempts: null,
    group: null,
    headers: null,
  };

  it('have defaults, in an item of scheduleMany, too', () => {
    expect(parseScheduleOptions({ after: '5s' })).toEqual(DEFAULTS);
    const item = { name: 'a', payload: {} };
    expect(parseScheduleItem({ ...item, after: '5s' })).toEqual({ ...item, options: DEFAULTS });
    expect(() => parseScheduleItem({ after: 1, manager: {} })).toThrow('options.manager');
    expect(() => parseScheduleOptions({ after: 1, name: 'a' })).toThrow('options.name');
  });

  it('take everything that may be said', () => {
    const said = { key: '42', maxAttempts: 3, group: 'shop-7' };
    const headers = { traceparent: '00-4b-00f0-01' };
    const given = { ...said, headers, after: '5s', onConflict: 'keep', manager: {} };
    expect(parseScheduleOptions(given)).toEqual({
      ...DEFAULTS,
      ...said,
      onConflict: 'keep',
      headers: JSON.stringify(headers),
    });
  });

  it('may ask for a run behind the one that runs, of a key that is due once', () => {
    expect([reruns('rerun'), reruns('leave'), reruns('leave', {})]).toEqual([true, false, false]);
    expect(() => reruns('rerun', {})).toThrow('running: needs a key');
    expect(() => reruns('again')).toThrow("running: must be 'leave' or 'rerun', not \"again\"");
    const recurring = { key: 'k', repeat: { every: '1h' } };
    expect(() => reruns('leave', recurring)).toThrow(
      'running: is only for a delay that is due once',
    );
  });

  it('take a longest wait that is no shorter than the first', () => {
    expect(longest('5s').maxWaitMs).toBe(5_000);
    expect(() => longest('4s')).toThrow('maxWait: must be at least `after`');
  });

  it('say how it recurs, and count from now what has no first time', () => {
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
});

const refuse = (): string => checkKey(7);

it('a refusal says whose it is: of an item, or of the module at start', () => {
  expect(() => blamedOn('items[3]', refuse)).toThrow('items[3].key: must be a text, not 7');
  expect(() => atStart('DelayQueueModule', refuse)).toThrow(
    expect.objectContaining({
      code: 'DELAY_CONFIG',
      message: 'DelayQueueModule: key: must be a text, not 7',
    }),
  );
});
