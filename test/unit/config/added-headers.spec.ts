import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { checkHeaders, withHeaders } from '../../../src/delay-queue/core/config/headers.js';

/** The headers of a trace beside those of a caller. */

const ADDED = { traceparent: 't'.repeat(55), tracestate: 's'.repeat(100) };

const texts = fc.dictionary(
  fc.oneof(fc.stringMatching(/^[a-z-]{1,20}$/), fc.constantFrom('traceparent', '__proto__')),
  fc.oneof(fc.stringMatching(/^[ -~]{0,40}$/), fc.constant('x'.repeat(1_300))),
  { maxKeys: 34, noNullPrototype: true },
);

it('the caller comes first, then as many of the trace as there is room for', () => {
  fc.assert(
    fc.property(texts, (own) => {
      let given: string | null;
      try {
        given = checkHeaders(own);
      } catch {
        return;
      }
      const all = JSON.parse(withHeaders(given, ADDED) ?? '{}');
      // It is still within what a caller may give.
      expect(checkHeaders(all)).toBe(
        given === null && Object.keys(all).length === 0 ? null : JSON.stringify(all),
      );
      const { traceparent, tracestate, ...others } = all;
      const { traceparent: ownTrace, ...ownOthers } = own;
      expect(others).toEqual(ownOthers);
      // Of those of the trace the first comes first, and none beside one of the caller.
      const may = [
        [ownTrace, undefined],
        ...(ownTrace === undefined ? [Object.values(ADDED), [ADDED.traceparent, undefined]] : []),
      ];
      expect(may).toContainEqual([traceparent, tracestate]);
    }),
  );
});

it.each([
  [30, ['traceparent', 'tracestate']],
  [31, ['traceparent']],
  [32, []],
])('beside %i headers there is room for %j', (count, added) => {
  const own = Object.fromEntries(Array.from({ length: count }, (_, index) => [`h${index}`, '']));
  const all = JSON.parse(withHeaders(JSON.stringify(own), ADDED) ?? '{}');
  expect(Object.keys(all).slice(count)).toEqual(added);
});

it.each([
  [4_096 - 188, ['traceparent', 'tracestate']],
  [4_096 - 187, ['traceparent']],
  [4_096 - 72, ['traceparent']],
  [4_096 - 71, []],
])('beside %i bytes there is room for %j', (bytes, added) => {
  const given = JSON.stringify({ h: 'x'.repeat(bytes - 8) });
  expect(given).toHaveLength(bytes);
  expect(Object.keys(JSON.parse(withHeaders(given, ADDED) ?? '{}')).slice(1)).toEqual(added);
});
