import { expect, it } from '@jest/globals';
import { compiled } from '../../tools/compiled.mjs';

const ONE = 'export const one: number = 1;';
const OTHER = 'export const one: number = 2;';

it('compiles a source anew when it is another one, and when it is its own again', () => {
  const file = '/nowhere/changing.ts';
  const one = compiled(ONE, file);
  expect(one).toMatch(/^export const one = 1;\n/);
  expect(compiled(ONE, file)).toBe(one);
  expect(compiled(OTHER, file)).toMatch(/^export const one = 2;\n/);
  expect(compiled(ONE, file)).toBe(one);
});

it('tells two files with one source apart: each is named in its source map', () => {
  const [one, other] = ['one', 'other'].map((name) => compiled(ONE, `/nowhere/${name}.ts`));
  expect(one).not.toBe(other);
});
