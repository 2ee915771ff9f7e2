import { fileURLToPath } from 'node:url';
import base from '../../jest.config.js';
import { SWC_OPTIONS } from '../../tools/swc-options.mjs';

const TRANSFORM = fileURLToPath(import.meta.resolve('./transform.mjs'));

/** As ever, but for sources that `SOURCE_PATCHES` changes on their way in. */
export default {
  ...base,
  rootDir: fileURLToPath(new URL('../..', import.meta.url)),
  testPathIgnorePatterns: ['/node_modules/'],
  transform: { '^.+\\.ts$': [TRANSFORM, SWC_OPTIONS] },
  reporters: ['<rootDir>/test/mutants-by-suite/reporter.mjs'],
};
