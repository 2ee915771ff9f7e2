import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  Coalescer,
  ownError,
  PendingCall,
} from '../../../../src/delay-queue/core/client/coalescer.js';

/** A statement that is on its way. */
interface Statement {
  calls: readonly string[];
  answer: (index: number, answer: string) => void;
  end: () => void;
  fail: (error: Error) => void;
}

let statements: Statement[];
/** What becomes of each call that is done alone. */
let alone: string[];
let aloneFails: Error | undefined;
/** What each call was told, in order. */
let told: string[];
let coalescer: Coalescer<string, string>;
let storage: AsyncLocalStorage<string>;
let contexts: unknown[];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
  [statements, alone, told, contexts, aloneFails] = [[], [], [], [], undefined];
  storage = new AsyncLocalStorage();
  coalescer = new Coalescer<string, string>({
    together: (calls, answer) => {
      contexts.push(storage.getStore());
      return new Promise((end, fail) => statements.push({ calls, answer, end, fail }));
    },
    alone: async (name) => {
      alone.push(name);
      if (aloneFails !== undefined) throw aloneFails;
      return 'alone';
    },
    lengthOf: (name) => (name.startsWith('long') ? 600_000 : name.startsWith('huge') ? 2 ** 21 : 1),
  });
});

afterEach(() => {
  jest.useRealTimers();
});

function call(name: string): PendingCall<string, string> {
  const pending = new PendingCall<string, string>(name, () => {});
  pending.answer.then(
    (answer) => told.push(`${name}: ${answer}`),
    (error: Error) => told.push(`${name}: ${error.message}`),
  );
  coalescer.add(pending);
  return pending;
}

const calls = (...names: string[]): void => names.forEach((name) => void call(name));
const sent = (): (readonly string[])[] => statements.map((statement) => statement.calls);
const refused = (code: string): Error => Object.assign(new Error(`refused ${code}`), { code });

/** Answers all of a statement, which ends. */
async function done(of: Statement | undefined): Promise<void> {
  of!.calls.forEach((name, index) => of!.answer(index, `done ${name}`));
  of!.end();
  await turn();
}

describe('calls of one turn', () => {
  it('travel together, and each has its answer', async () => {
    calls('a', 'b');
    expect(statements).toEqual([]);
    await turn();
    calls('c');
    await turn();
    expect(sent()).toEqual([['a', 'b'], ['c']]);
    statements[0]!.answer(1, 'second');
    await turn();
    expect(told).toEqual(['b: second']);
    statements[0]!.answer(0, 'first');
    statements[0]!.answer(0, 'again');
    await turn();
    expect(told).toEqual(['b: second', 'a: first']);
  });

  it('gather while two statements are on their way, and go when one of them has ended', async () => {
    for (const name of ['a', 'b', 'c', 'd']) {
      calls(name);
      await turn();
    }
    expect(sent()).toEqual([['a'], ['b']]);
    await done(statements[1]);
    await turn();
    expect(sent().slice(2)).toEqual([['c', 'd']]);
    await done(statements[0]);
    await done(statements[2]);
    calls('e');
    await turn();
    calls('f');
    await turn();
    expect(sent().slice(3)).toEqual([['e'], ['f']]);
  });

  it('are two hundred at most, and their payloads a MiB, unless one alone has more', async () => {
    const many = Array.from({ length: 201 }, (_, n) => `n${n}`);
    calls(...many);
    await turn();
    expect(sent().map(({ length }) => length)).toEqual([200, 1]);
    for (const statement of statements) await done(statement);
    calls('long 1', 'long 2');
    await turn();
    expect(sent().slice(2)).toEqual([['long 1'], ['long 2']]);
    for (const statement of statements.slice(2)) await done(statement);
    calls('huge', 'a');
    await turn();
    expect(sent().slice(4)).toEqual([['huge'], ['a']]);
  });

  it('are of no caller’s AsyncLocalStorage', async () => {
    storage.run('a request', () => calls('a'));
    await turn();
    expect(contexts).toEqual([undefined]);
  });

  it('that were given up before they were sent are not sent', async () => {
    const [gone] = [call('a'), call('b')];
    gone.reject(new Error('late'));
    await turn();
    expect([sent(), gone.isSent]).toEqual([[['b']], false]);
    await done(statements[0]);
    call('c').reject(new Error('late'));
    await turn();
    expect(statements).toHaveLength(1);
  });
});

it('a statement that is silent leaves its place after two seconds, once', async () => {
  calls('a');
  await turn();
  calls('b');
  await turn();
  calls('c');
  await jest.advanceTimersByTimeAsync(1_999);
  await turn();
  expect(statements).toHaveLength(2);
  await jest.advanceTimersByTimeAsync(1);
  await turn();
  expect(sent()).toEqual([['a'], ['b'], ['c']]);
  await done(statements[0]);
  await done(statements[1]);
  await turn();
  // One is on its way: there is a place for one more, and for no other.
  for (const name of ['d', 'e']) {
    calls(name);
    await turn();
  }
  expect(sent().slice(3)).toEqual([['d']]);
  await done(statements[2]);
  await done(statements[3]);
  await done(statements[4]);
  expect([told.length, jest.getTimerCount()]).toEqual([5, 0]);
});

describe('a call', () => {
  it('that got no answer is done alone, with its own error', async () => {
    calls('a', 'b');
    await turn();
    statements[0]!.answer(0, 'done');
    statements[0]!.end();
    await turn();
    expect([alone, told]).toEqual([['b'], ['a: done', 'b: alone']]);
    aloneFails = new Error('no');
    calls('c');
    await turn();
    statements[1]!.end();
    await turn();
    expect(told.at(-1)).toBe('c: no');
  });

  it('that is refused is found in halves, and the others are done', async () => {
    calls('a', 'b', 'c');
    await turn();
    statements[0]!.fail(refused('22P02'));
    await turn();
    expect(sent().slice(1)).toEqual([['a', 'b']]);
    await done(statements[1]);
    expect(sent().slice(2)).toEqual([['c']]);
    statements[2]!.fail(refused('22P02'));
    await turn();
    expect([alone, told]).toEqual([[], ['a: done a', 'b: done b', 'c: refused 22P02']]);
  });

  it('that met another is done alone', async () => {
    calls('a');
    await turn();
    statements[0]!.fail(refused('55P03'));
    await turn();
    expect([alone, told]).toEqual([['a'], ['a: alone']]);
  });

  it('that may have happened is not done again, and what has its answer keeps it', async () => {
    calls('a', 'b');
    await turn();
    statements[0]!.answer(0, 'done');
    statements[0]!.fail(new Error('Query read timeout'));
    await turn();
    expect([sent().length, alone]).toEqual([1, []]);
    expect(told).toEqual(['a: done', 'b: Query read timeout']);
  });
});

describe('the error of a statement that many share', () => {
  it('is each call’s own, with its class, its fields and the call’s stack', async () => {
    class Refusal extends Error {
      code = '22P02';
    }
    const shared = new Refusal('no');
    async function caller(): Promise<unknown> {
      try {
        return await Promise.reject(shared);
      } catch (error) {
        return ownError(error);
      }
    }
    const [one, other] = (await Promise.all([caller(), caller()])) as [Refusal, Refusal];
    expect([one === other, one === shared]).toEqual([false, false]);
    expect(one).toBeInstanceOf(Refusal);
    expect([one.message, one.code, one.stack?.split('\n')[0]]).toEqual([
      'no',
      '22P02',
      'Error: no',
    ]);
    expect(one.stack).not.toContain(shared.stack?.split('\n')[1]);
  });

  it('is as it was where it is none', () => {
    expect(ownError('a text')).toBe('a text');
  });
});

const resolve = (pending: PendingCall<string, string>): void => pending.resolve('done');
const reject = (pending: PendingCall<string, string>): void => pending.reject(new Error('no'));

it('the first answer of a call counts, and the first error, once', async () => {
  let answered = 0;
  const settle = (...acts: ((pending: PendingCall<string, string>) => void)[]) => {
    const pending = new PendingCall<string, string>('a', () => (answered += 1));
    for (const act of acts) act(pending);
    return pending.answer.catch((error: Error) => error.message);
  };
  expect(await settle(resolve, reject, resolve)).toBe('done');
  expect(await settle(reject, resolve, reject)).toBe('no');
  expect(answered).toBe(2);
});
