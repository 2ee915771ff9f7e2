import type { Answer } from './running-shop.js';

/** So many at the same time. */
export const atOnce = <T>(count: number, ask: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => ask(index)));

/** Each of them once. */
export const statusesOf = (answers: Answer[]): number[] => [
  ...new Set(answers.map(({ status }) => status)),
];
