import { describe, expect, it } from '@jest/globals';
import {
  DelayConfigError,
  DelayInvalidError,
} from '../../../src/delay-queue/delay/delay.errors.js';
import { atStart, within } from '../../../src/delay-queue/validation/blame.js';
import {
  parseScheduleItem,
  parseScheduleOptions,
} from '../../../src/delay-queue/validation/schedule-options.js';

/** What is refused stands in `test/hostile/corpus/options.ts`. */
describe('parseScheduleOptions', () => {
  it('fills in what is left out', () => {
    expect(parseScheduleOptions({ after: '5s' })).toEqual({
      to: { kind: 'after', ms: 5_000 },
      key: null,
      onConflict: 'replace',
      maxAttempts: null,
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
        manager,
      }),
    ).toEqual({
      to: { kind: 'at', iso: '1970-01-01T00:00:00.007Z' },
      key: '42',
      onConflict: 'keep',
      maxAttempts: 3,
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

  it('both leave other errors and results alone', () => {
    const bug = new TypeError('a bug');
    const fail = (): never => {
      throw bug;
    };
    expect(() => within('a', fail)).toThrow(bug);
    expect(() => atStart('a', fail)).toThrow(bug);
    expect([within('a', () => 1), atStart('a', () => 2)]).toEqual([1, 2]);
  });
});

function refuse(): never {
  throw new DelayInvalidError('key', 'must be a text');
}
