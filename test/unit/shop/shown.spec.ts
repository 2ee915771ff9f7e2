import { afterEach, expect, it, jest } from '@jest/globals';
import type { Happening } from '../../../src/shop/feed/feed.js';
import { ShopConfigError } from '../../../src/shop/shop.config.js';
import { ShopLog } from '../../../src/shop/shop.log.js';
import { shown, shownJson } from '../../../src/shop/shown.js';
import { StartError } from '../../../src/start.error.js';
import { explain } from '../../../src/terminal/explain.js';
import { lifeLine } from '../../../src/terminal/life-line.js';
import { Terminal } from '../../../src/terminal/terminal.js';
import { ACTING, HOSTILE } from '../../hostile/corpus/acting-texts.js';

afterEach(() => void jest.restoreAllMocks());

/** Lines in which something acts, and those that begin as the log's own do, but for the first. */
const actingIn = (said: string): string[] =>
  said
    .trimEnd()
    .split('\n')
    .filter((line, at) => ACTING.test(line) || (at > 0 && line.startsWith('[Nest]')));

const happening = (text: string): Happening => ({
  id: text,
  at: '',
  what: 'order.placed',
  orderId: null,
  no: 1,
  delay: null,
  by: text,
  lateMs: null,
  stock: null,
  amount: null,
  detail: text,
});

it.each(HOSTILE)('nothing acts on a terminal of what the shop prints: %j', (text) => {
  const printed: string[] = [];
  const print = (said: unknown): boolean => printed.push(String(said)) > 0;
  for (const stream of [process.stdout, process.stderr])
    jest.spyOn(stream, 'write').mockImplementation(print);
  const terminal = new Terminal();
  const log = new ShopLog({ colors: false });
  terminal.print(lifeLine(happening(text)));
  terminal.print(text.replace('\n', ''));
  terminal.complain(text.replace('\n', ''));
  log.error(text);
  log.warn({ of: [text] });
  jest.restoreAllMocks();
  expect(printed.length).toBeGreaterThan(4);
  expect(printed.flatMap(actingIn)).toEqual([]);
});

it.each(HOSTILE)('nor of what it says of a failed start: %j', (text) => {
  for (const error of [new ShopConfigError(text), new StartError(text), new Error(text), { text }])
    expect(
      explain(error)
        .split('\n')
        .filter((line) => ACTING.test(line)),
    ).toEqual([]);
  expect(actingIn(explain(new Error(text)))).toEqual([]);
});

it.each(HOSTILE)('nor in what the page, and who reads an answer, is told: %j', (text) => {
  const told = { text, list: [{ text }], number: 1, nothing: null };
  const { text: itself, list, ...others } = JSON.parse(shownJson(told));
  expect(ACTING.test(itself + list[0].text)).toBe(false);
  expect(others).toEqual({ number: 1, nothing: null });
});

it('keeps colours and lines of its own', () => {
  const said = '\u001b[31mshop-1\u001b[39m died\n  at once';
  expect(shown(said)).toBe(said);
  expect(shown('\u001b[31mred\u001b[2J')).toBe('\u001b[31mred\\u001b[2J');
});
