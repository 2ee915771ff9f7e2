import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const SHOP = 'src/shop';
const LINES_MAX = 15;
/** Whatever has a decorator is called by Nest or by the library: a route, a delay, a clock. */
interface Handler {
  name: string;
  /** From its name to its closing brace. */
  lines: number;
}

const handlersOf = (file: string): Handler[] => {
  const source = ts.createSourceFile(
    file,
    readFileSync(file, 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  return source.statements
    .filter(ts.isClassDeclaration)
    .flatMap(({ members }) => members.filter(ts.isMethodDeclaration))
    .filter((method) => ts.getDecorators(method) !== undefined)
    .map(({ name, end }) => ({
      name: `${file}: ${name.getText()}`,
      lines: lineOf(end) - lineOf(name.getStart()) + 1,
    }));
};

it('no handler of the shop is longer than one takes in at a glance', () => {
  const files = readdirSync(SHOP, { recursive: true, encoding: 'utf8' });
  const handlers = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => handlersOf(join(SHOP, file)));
  for (const kind of ['close-order.handler.ts', 'orders.controller.ts', 'reconciler.service.ts']) {
    expect(handlers.some(({ name }) => name.includes(kind))).toBe(true);
  }
  expect(handlers.filter(({ lines }) => lines > LINES_MAX)).toEqual([]);
});
