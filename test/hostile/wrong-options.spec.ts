import { describe, expect, it } from '@jest/globals';
import { applyDecorators } from '@nestjs/common';
import { DelayConfigError, OnDelay, RepeatDelay } from 'nestjs-delay-queue';
import * as fc from 'fast-check';
import { refusedStart } from '../integration/engine/support/refused-start.js';
import { createTestDatabase } from '../support/database.js';
import { SUBJECTS } from './wrong-options/subjects.js';
import { WRONG_VALUES } from './wrong-options/values.js';

/** What the start says, or that it goes on. */
function answerOf(check: () => unknown): string {
  try {
    check();
    return 'it starts';
  } catch (error) {
    const isOurs = error instanceof DelayConfigError;
    return isOurs ? error.message : `another error: ${String(error)}`;
  }
}

/** A letter left out, or swapped with the next, and other cases. */
const misspelt = (name: string): string[] => {
  const at = Math.floor(name.length / 2);
  const [before, letter, next] = [name.slice(0, at - 1), name[at - 1], name[at]];
  const variants = [
    name.toUpperCase(),
    name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`),
    before + name.slice(at),
    `${before}${letter}${letter}${name.slice(at)}`,
    `${before}${next}${letter}${name.slice(at + 1)}`,
  ];
  return variants.filter((variant) => variant !== name && variant !== '');
};

/** Values that are refused in other words, or not at all. */
const unlike = (
  check: (value: unknown) => unknown,
  start: string,
  taken: readonly string[] = [],
): object[] =>
  WRONG_VALUES.filter(({ kind }) => !taken.includes(kind))
    .map(({ kind, value, shown }) => ({ kind, shown, answer: answerOf(() => check(value)) }))
    .filter(({ shown, answer }) => !answer.startsWith(start) || !shown.test(answer));

describe.each(SUBJECTS)('$where, $path ($names)', (subject) => {
  const { where, path, names, check, beside } = subject;
  const prefix = path === 'options' ? '' : `${path}.`;

  it('a misspelt name hears the right one', () => {
    for (const name of names) {
      for (const variant of misspelt(name)) {
        const answer = answerOf(() => check({ ...beside, [variant]: 1 }));
        const says = `${where}: ${path}.${variant}: is not an option; did you mean ${name}?`;
        expect(answer).toBe(says);
      }
    }
  });

  it('a value of another type is named and shown', () => {
    for (const name of names) {
      const given = (value: unknown) => check({ ...beside, [name]: value });
      expect(unlike(given, `${where}: ${prefix}${name}`, subject.takes?.[name])).toEqual([]);
    }
    const taken = ['an empty object', ...(subject.takesWhole ?? [])];
    expect(unlike(check, `${where}: ${path}`, taken)).toEqual([]);
  });
});

it('whatever an option is given, it is taken or refused by name', () => {
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  });
  const options = SUBJECTS.flatMap((subject) => subject.names.map((name) => ({ subject, name })));
  // What is undefined counts as left out.
  const given = anything.filter((value) => value !== undefined);
  fc.assert(
    fc.property(fc.constantFrom(...options), given, ({ subject, name }, value) => {
      const { where, path, check, beside } = subject;
      const answer = answerOf(() => check({ ...beside, [name]: value }));
      const start = path === 'options' ? `${where}: ` : `${where}: ${path}.`;
      const isByName = answer.startsWith(start) && answer.includes(name);
      expect(answer === 'it starts' || isByName || answer).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

/** What no option takes. */
const WRONG = Symbol('wrong');

/** A handler with those options, and one that recurs. */
function handlerWith(onDelay: object, onRepeat?: object): new () => object {
  const repeats = onRepeat ? [RepeatDelay('test.a', onRepeat as never)] : [];
  class Orders {
    @applyDecorators(...repeats)
    @OnDelay('test.a', onDelay)
    close(): void {}
  }
  return Orders;
}

it.each([
  ['of the module', { options: { lease: WRONG as never } }, 'DelayQueueModule: lease'],
  ['of a handler', { providers: [handlerWith({ timeout: WRONG })] }, /Orders\.close.*: timeout/],
  [
    'of what recurs',
    { providers: [handlerWith({}, { every: '1h', payload: WRONG })] },
    /Orders\.close.*: payload/,
  ],
])('an application does not start with a wrong option %s', async (_, setup, where) => {
  const database = await createTestDatabase();
  const error = await refusedStart({ url: database.url, ...setup });
  await database.drop();
  expect(error).toBeInstanceOf(DelayConfigError);
  expect(String(error)).toMatch(where);
  expect(String(error)).toMatch(/a symbol/);
});

it('an application does not start with options that nobody waited for', () => {
  const options = Promise.resolve({ concurrency: 5 }) as object;
  expect(() => void refusedStart({ url: '', options })).toThrow(
    new DelayConfigError('DelayQueueModule: options: must be an object, not a Promise'),
  );
});
