import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DelayConfigError, OnDelay, RepeatDelay } from 'nestjs-delay-queue';
import * as fc from 'fast-check';
import { refusedStart } from '../integration/engine/support/refused-start.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { HANDLER, MODULE, RECURRING, SUBJECTS } from './wrong-options/subjects.js';
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

/** One letter left out or swapped with the next, or another case. */
function misspelt(name: string): string[] {
  const letters = name.split('');
  const variants = [
    name.toUpperCase(),
    name.toLowerCase(),
    name.charAt(0).toUpperCase() + name.slice(1),
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    ...letters.map((_, index) => name.slice(0, index) + name.slice(index + 1)),
    ...letters.map((letter, index) => name.slice(0, index) + letter + name.slice(index)),
    ...letters
      .slice(1)
      .map(
        (letter, index) => name.slice(0, index) + letter + letters[index] + name.slice(index + 2),
      ),
  ];
  return [...new Set(variants)].filter((variant) => variant !== name && variant !== '');
}

/** Values that are refused in other words, or not at all. */
const unlike = (
  check: (value: unknown) => unknown,
  start: string,
  taken: readonly string[] = [],
): object[] =>
  WRONG_VALUES.filter(({ kind }) => !taken.includes(kind))
    .map(({ kind, value, shown }) => ({ kind, shown, answer: answerOf(() => check(value)) }))
    .filter(({ shown, answer }) => {
      const isShown = shown.split('|').some((text) => answer.includes(text));
      return !answer.startsWith(start) || !isShown;
    });

describe.each(SUBJECTS)('$where, $path ($names)', (subject) => {
  const { where, path, names, check, beside } = subject;
  const prefix = path === 'options' ? '' : `${path}.`;

  it.each(names)('%s: a misspelt name hears the right one', (name) => {
    const answers = misspelt(name).map((variant) => [
      variant,
      answerOf(() => check({ ...beside, [variant]: 1 })),
    ]);
    const expected = misspelt(name).map((variant) => [
      variant,
      `${where}: ${path}.${variant}: is not an option; did you mean ${name}?`,
    ]);
    expect(answers).toEqual(expected);
  });

  it.each(names)('%s: a value of another type is named and shown', (name) => {
    const given = (value: unknown) => check({ ...beside, [name]: value });
    expect(unlike(given, `${where}: ${prefix}${name}`, subject.takes?.[name])).toEqual([]);
  });

  it('what is no object of options is named and shown', () => {
    const taken = ['an empty object', ...(subject.takesWhole ?? [])];
    expect(unlike(check, `${where}: ${path}`, taken)).toEqual([]);
  });
});

/** Each option of each object. */
const OPTIONS = SUBJECTS.flatMap((subject) => subject.names.map((name) => ({ subject, name })));

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
  // What is undefined counts as left out.
  const given = anything.filter((value) => value !== undefined);
  fc.assert(
    fc.property(fc.constantFrom(...OPTIONS), given, ({ subject, name }, value) => {
      const { where, path, check, beside } = subject;
      const answer = answerOf(() => check({ ...beside, [name]: value }));
      const start = path === 'options' ? `${where}: ` : `${where}: ${path}.`;
      const isByName = answer.startsWith(start) && answer.includes(name);
      expect(answer === 'it starts' || isByName || answer).toBe(true);
    }),
    { numRuns: 3_000 },
  );
});

/** What no option takes. */
const WRONG = Symbol('wrong');

describe('an application', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });

  afterAll(() => database.drop());

  it.each(MODULE.names)('does not start with a wrong %s of the module', async (name) => {
    const error = await refusedStart({ url: database.url, options: { [name]: WRONG } });
    expect(error).toBeInstanceOf(DelayConfigError);
    expect(String(error)).toMatch(new RegExp(`DelayQueueModule: ${name}: .*not a symbol$`));
  });

  it.each([
    ...HANDLER.names.map((name) => ({ name, onDelay: { [name]: WRONG }, onRepeat: undefined })),
    ...RECURRING.names.map((name) => ({
      name,
      onDelay: {},
      onRepeat: { ...RECURRING.beside, [name]: WRONG },
    })),
  ])('does not start with a wrong $name of a handler', async ({ name, onDelay, onRepeat }) => {
    class Orders {
      close(): void {}
    }
    const method = Object.getOwnPropertyDescriptor(Orders.prototype, 'close') ?? {};
    OnDelay('test.a', onDelay as object)(Orders.prototype, 'close', method);
    if (onRepeat) RepeatDelay('test.a', onRepeat as never)(Orders.prototype, 'close', method);
    const error = await refusedStart({ url: database.url, providers: [Orders] });
    expect(error).toBeInstanceOf(DelayConfigError);
    expect(String(error)).toMatch(new RegExp(`Orders\\.close.*: ${name}: .* a symbol`));
  });

  it('does not start with options that nobody waited for', async () => {
    const options = Promise.resolve({ concurrency: 5 }) as object;
    expect(() => void refusedStart({ url: database.url, options })).toThrow(
      new DelayConfigError('DelayQueueModule: options: must be an object, not a Promise'),
    );
  });
});
