import { describe, expect, it } from '@jest/globals';
import { assert, jsonValue, property } from 'fast-check';
import { indented } from '../../../src/delay-queue/dashboard/page/delay/indented-json.js';

describe('a payload on several lines', () => {
  it('keeps numbers that a number of JavaScript would change, and fields that are there twice', () => {
    expect(indented('{"id":12345678901234567890,"id":1.0e+2,"a":[]}')).toBe(
      '{\n  "id": 12345678901234567890,\n  "id": 1.0e+2,\n  "a": []\n}',
    );
  });

  it('breaks no text apart', () => {
    const text = '{"a":"x: [1, {2}] \\" \\\\","b":[{"c":null},true]}';
    expect(indented(text)).toBe(
      '{\n  "a": "x: [1, {2}] \\" \\\\",\n  "b": [\n    {\n      "c": null\n    },\n    true\n  ]\n}',
    );
  });

  it('escapes what would turn its text around, or hide in it', () => {
    expect(indented('{"a\u202eb":"\u200b"}')).toBe('{\n  "a\\u202eb": "\\u200b"\n}');
  });

  it('is as JSON.stringify indents it', () => {
    assert(
      property(jsonValue(), (value) => {
        const shown = indented(JSON.stringify(value));
        expect(JSON.parse(shown)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(shown.split('\n').length).toBe(JSON.stringify(value, null, 2).split('\n').length);
      }),
    );
  });
});
