import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const CACHE = fileURLToPath(
  new URL('../../node_modules/.cache/random-mutants', import.meta.url),
);
