import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, jsonValue, property, string } from 'fast-check';
import { placeOfError } from '../../../src/delay-queue/dashboard/page/act/json-place.js';
import {
  plainJson,
  readPlainFields,
} from '../../../src/delay-queue/dashboard/page/act/plain-fields.js';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe('the place of an error in JSON', () => {
  it('is none in what JSON.parse takes, however it is indented', () => {
    assert(
      property(jsonValue(), constantFrom(0, 2), (value, indent) => {
        expect(placeOfError(JSON.stringify(value, null, indent))).toBeNull();
      }),
    );
  });

  it('is somewhere in what JSON.parse refuses, and nowhere else', () => {
    const signs = constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      'a',
      '\\',
      '-',
      '0',
      '1',
      '.',
      'e',
    );
    const more = constantFrom(' ', '\n', 'true', 'null', '"a"', '\\u00e9', '\t');
    assert(
      property(
        array(signs.chain((one) => more.map((other) => one + other))),
        string(),
        (parts, end) => {
          for (const text of [parts.join(''), parts.join('') + end, end]) {
            expect([text, placeOfError(text) === null]).toEqual([text, isJson(text)]);
          }
        },
      ),
    );
  });

  it.each([
    ['', 1, 1],
    ['{"a": 1,}', 1, 9],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3],
    ['{"a": tru}', 1, 7],
    ['[1, 2', 1, 6],
    ['{} x', 1, 4],
    ["{'a': 1}", 1, 2],
    ['{"a" 1}', 1, 6],
  ])('of %j is line %d, column %d', (text, line, column) => {
    expect(placeOfError(text)).toEqual({ line, column });
  });
});

describe('the form of a payload', () => {
  const schema = {
    type: 'object',
    properties: {
      orderId: { type: 'integer' },
      note: { type: 'string', description: 'For the customer' },
      express: { type: 'boolean' },
      size: { enum: ['s', 'l'] },
    },
    required: ['orderId', 'note'],
    additionalProperties: false,
  };

  it('has an input for each field of an object of plain ones', () => {
    expect(readPlainFields(schema)).toEqual([
      { name: 'orderId', kind: 'integer', isRequired: true, description: null, choices: [] },
      {
        name: 'note',
        kind: 'text',
        isRequired: true,
        description: 'For the customer',
        choices: [],
      },
      { name: 'express', kind: 'flag', isRequired: false, description: null, choices: [] },
      { name: 'size', kind: 'choice', isRequired: false, description: null, choices: ['s', 'l'] },
    ]);
  });

  it.each([
    ['nothing', null],
    ['a text', { type: 'string' }],
    ['an object in it', { type: 'object', properties: { a: { type: 'object' } } }],
    ['a union', { anyOf: [], type: 'object', properties: { a: { type: 'string' } } }],
    ['choices that are no texts', { type: 'object', properties: { a: { enum: [1, 'x'] } } }],
    ['no field', { type: 'object', properties: {} }],
  ])('is none for %s', (_what, its) => {
    expect(readPlainFields(its)).toBeNull();
  });

  it('keeps numbers as they were typed, and leaves out what is empty', () => {
    const fields = readPlainFields(schema)!;
    const values = { orderId: '12345678901234567890', express: 'false', note: '' };
    expect(plainJson(fields, values)).toBe(
      '{ "orderId": 12345678901234567890, "note": "", "express": false }',
    );
    expect(plainJson(fields, { orderId: '1; drop', note: '"' })).toBe(
      '{ "orderId": "1; drop", "note": "\\"" }',
    );
  });
});
