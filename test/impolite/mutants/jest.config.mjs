import base from '../../../jest.config.js';
import { fileURLToPath } from 'node:url';
import { SWC_OPTIONS } from '../../../tools/swc-options.mjs';

/** As ever, but for sources that `SOURCE_PATCHES` changes on their way in. */
export default {
  ...base,
  rootDir: fileURLToPath(new URL('../../..', import.meta.url)),
  transform: { '^.+\\.ts$': ['<rootDir>/test/impolite/mutants/transform.mjs', SWC_OPTIONS] },
};
