import { describe, expect, it } from '@jest/globals';
import { DelayUnstableError } from '../../../src/delay-queue/core/api/errors.js';
import { isLasting, isTooMuch } from '../../../src/delay-queue/core/database/driver-errors.js';
import { inParts, StatementSize } from '../../../src/delay-queue/core/store/statement-size.js';

const refusedWith = (code: string): Error => Object.assign(new Error(code), { code });
const OUTLIVED = refusedWith('57014');

const shrinking = (size: StatementSize, error: Error) =>
  size.runOrShrink(size.now, () => Promise.reject(error));

describe('the size of a statement', () => {
  it('halves down to one, and doubles after statements that were quick and as large as they might be', () => {
    const size = new StatementSize(10);
    const sizes: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      size.failed(size.now);
      sizes.push(size.now);
    }
    size.worked(1, 10);
    sizes.push(size.now);
    size.worked(1, 10);
    sizes.push(size.now);
    for (let n = 0; n < 4; n += 1) {
      size.worked(size.now, 10);
      sizes.push(size.now);
    }
    expect(sizes).toEqual([5, 2, 1, 1, 1, 2, 2, 4, 8, 10, 10]);
  });

  it('halves after a statement that was slow, before its limit strikes, and stays where it is neither slow nor quick', () => {
    const size = new StatementSize(100, 1_000);
    size.worked(100, 1_001);
    expect(size.now).toBe(50);
    size.worked(50, 500);
    expect(size.now).toBe(50);
    size.worked(50, 200);
    expect(size.now).toBe(100);
  });

  it('a statement that asked for less than it might says nothing of larger ones', () => {
    const size = new StatementSize(100);
    size.failed(3);
    expect(size.now).toBe(1);
  });
});

describe('a statement that can be asked again', () => {
  it.each([['57014'], ['54000'], ['53200']])(
    '%s: answers nothing until it is one',
    async (code) => {
      const size = new StatementSize(4);
      await expect(shrinking(size, refusedWith(code))).resolves.toBeUndefined();
      expect(size.now).toBe(2);
      await expect(shrinking(size, refusedWith(code))).resolves.toBeUndefined();
      expect(size.now).toBe(1);
      await expect(shrinking(size, refusedWith(code))).rejects.toMatchObject({ code });
    },
  );

  it.each([['08006'], ['57P01'], ['ECONNRESET']])(
    '%s may be about the connection: the next is smaller, and not sent at once',
    async (code) => {
      const size = new StatementSize(4);
      await expect(shrinking(size, refusedWith(code))).rejects.toMatchObject({ code });
      expect(size.now).toBe(2);
    },
  );

  it('what has nothing to do with its size leaves that as it is', async () => {
    const size = new StatementSize(4);
    await expect(shrinking(size, refusedWith('42501'))).rejects.toMatchObject({ code: '42501' });
    expect(size.now).toBe(4);
  });
});

describe('what is done in parts', () => {
  it.each([['57014'], ['23514'], ['P0001']])(
    'one that is refused with %s is left out, and all others are done',
    async (code) => {
      const done: number[] = [];
      const failures: unknown[] = [];
      const items = Array.from({ length: 50 }, (_, n) => n);
      const statement = async (some: readonly number[]): Promise<void> => {
        if (some.includes(17)) throw refusedWith(code);
        done.push(...some);
      };
      const trouble = { failed: (error: unknown) => void failures.push(error) };
      await inParts(items, new StatementSize(20), statement, trouble);
      expect(done).toEqual(items.filter((n) => n !== 17));
      expect(failures).toHaveLength(1);
    },
  );

  it('what has nothing to do with how many there are is thrown', async () => {
    const deadlock = refusedWith('40P01');
    const statement = () => Promise.reject(deadlock);
    const doing = inParts([1, 2], new StatementSize(2), statement, { failed: () => {} });
    await expect(doing).rejects.toBe(deadlock);
  });
});

it.each([
  ['22P05', true, false],
  ['22021', true, false],
  ['22003', true, false],
  ['22001', true, false],
  ['23514', true, false],
  ['42501', true, false],
  ['P0001', true, false],
  ['54000', true, true],
  ['53200', false, true],
  ['57014', false, true],
  ['55P03', false, true],
  ['08006', false, true],
  ['40001', false, false],
  ['53300', false, false],
  ['57P03', false, false],
  ['42P01', false, false],
  ['25006', false, false],
])('SQLSTATE %s: refused for good %p, too much %p', (code, lasting, tooMuch) => {
  const error = refusedWith(code);
  expect([isLasting(error), isTooMuch(error)]).toEqual([lasting, tooMuch]);
});

it('a connection that ended may have been asked for too much; one that never was, and an error of our own, was not', () => {
  expect(isTooMuch(new Error('Query read timeout'))).toBe(true);
  expect(isTooMuch(refusedWith('ECONNRESET'))).toBe(true);
  expect(isTooMuch(refusedWith('ECONNREFUSED'))).toBe(false);
  expect(isTooMuch(new DelayUnstableError(10))).toBe(false);
  expect(isTooMuch(OUTLIVED)).toBe(true);
});
