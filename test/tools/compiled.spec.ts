import { expect, it } from '@jest/globals';
import { compiled } from '../../tools/compiled.mjs';

const of = (n: number, name = 'changing'): string =>
  compiled(`export const one: number = ${n};`, `/nowhere/${name}.ts`);

it('compiles a source anew when it is another one or of another file, and when it is its own again', () => {
  const one = of(1);
  expect(one).toMatch(/^export const one = 1;\n/);
  expect(of(2)).toMatch(/^export const one = 2;\n/);
  expect(of(1)).toBe(one);
  // Each is named in its source map.
  expect(of(1, 'other')).not.toBe(one);
});
