import config from '../../jest.config.js';

/** The tests against a real Postgres, while its answers arrive late: `npm run test:late-answers`. */
export default {
  ...config,
  rootDir: '../..',
  roots: ['integration', 'cluster', 'e2e', 'security', 'docs'].map(
    (name) => `<rootDir>/test/${name}`,
  ),
  // Those bring about each order themselves, in thousands of round trips.
  testPathIgnorePatterns: ['/node_modules/', '/test/integration/interleavings/'],
  setupFiles: ['<rootDir>/test/late-answers/late-answers.mjs'],
  testTimeout: 180_000,
};
