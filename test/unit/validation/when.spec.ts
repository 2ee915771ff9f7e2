import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import { parseRescheduleTo, parseWhen } from '../../../src/delay-queue/validation/when.js';

/** What is refused stands in `test/hostile/corpus/times.ts`. */
describe('parseWhen', () => {
  it('reads after as milliseconds and at as an ISO text', () => {
    expect(parseWhen({ after: '30m' })).toEqual({ kind: 'after', ms: 1_800_000 });
    expect(parseWhen({ after: 0, at: undefined })).toEqual({ kind: 'after', ms: 0 });
    expect(parseWhen({ at: new Date('2030-01-01T00:00:00.001Z'), after: undefined })).toEqual({
      kind: 'at',
      iso: '2030-01-01T00:00:00.001Z',
    });
  });

  it('allows the past and the far future within four-digit years', () => {
    expect(parseWhen({ at: new Date(0) })).toEqual({ kind: 'at', iso: '1970-01-01T00:00:00.000Z' });
    expect(parseWhen({ at: new Date('9999-12-31T23:59:59.999Z') })).toEqual({
      kind: 'at',
      iso: '9999-12-31T23:59:59.999Z',
    });
    expect(parseWhen({ after: 2 ** 31 })).toEqual({ kind: 'after', ms: 2 ** 31 });
  });

  it('takes a Date of another realm for a Date', () => {
    const at: unknown = runInNewContext('new Date(1000)');
    expect(parseWhen({ at })).toEqual({ kind: 'at', iso: '1970-01-01T00:00:01.000Z' });
  });
});

describe('parseRescheduleTo', () => {
  it('knows extendBy beside after and at', () => {
    expect(parseRescheduleTo({ extendBy: '3d' })).toEqual({ kind: 'extend', ms: 259_200_000 });
    expect(parseRescheduleTo({ after: '1s' })).toEqual({ kind: 'after', ms: 1_000 });
    expect(parseRescheduleTo({ at: new Date(5) })).toEqual({
      kind: 'at',
      iso: '1970-01-01T00:00:00.005Z',
    });
  });

  it.each([{}, null, { extendBy: '3x' }, { extendBy: -1 }, { extendBy: '3d', after: '1s' }])(
    'refuses %p',
    (to) => {
      expect(() => parseRescheduleTo(to)).toThrow(DelayInvalidError);
    },
  );
});
