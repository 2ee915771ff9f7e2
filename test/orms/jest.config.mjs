import config from '../../jest.config.js';

/** Calls in the transactions of real ORMs: `npm run test:orms`, which installs them. */
export default {
  ...config,
  rootDir: '../..',
  roots: ['<rootDir>/test/orms'],
  testRegex: '\\.spec\\.ts$',
  testPathIgnorePatterns: ['/node_modules/'],
};
