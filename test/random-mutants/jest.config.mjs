import { fileURLToPath } from 'node:url';
import mutants from '../mutants-by-suite/jest.config.mjs';

const beside = (file) => fileURLToPath(new URL(file, import.meta.url));

/** As for named mutants. The first file that fails is not the only one that is told of, and files come in the order given. */
export default {
  ...mutants,
  testEnvironment: beside('environment.mjs'),
  testSequencer: beside('as-given.mjs'),
  reporters: [beside('reporter.mjs')],
};
