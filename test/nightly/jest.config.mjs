import config from '../../jest.config.js';
import { NIGHTLY } from './specs.mjs';

/** What `npm test` leaves out: `npm run test:nightly`. */
export default {
  ...config,
  rootDir: '../..',
  testRegex: NIGHTLY.map((pattern) => `${pattern}.*\\.spec\\.ts$`),
  testPathIgnorePatterns: ['/node_modules/'],
};
