import { fileURLToPath } from 'node:url';
import mutants from '../mutants-by-suite/jest.config.mjs';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));

/** As for named mutants, but in the order given, and with a note of what each file reaches. */
export default {
  ...mutants,
  testEnvironment: beside('environment.mjs'),
  testSequencer: beside('as-given.mjs'),
};
