/**
 * What `npm test` leaves to `npm run test:nightly`: they start servers of their own, or take minutes
 * of waiting. Patterns of paths, as Jest reads them.
 */
export const NIGHTLY = [
  '/test/servers/',
  '/test/docs/classics',
  '/test/integration/bench(?!-)',
  '/test/integration/at-night',
  '/test/integration/mixed-versions',
  '/test/page/looks',
  '/test/dashboard-page/(?:looks|acting|operations)\\.',
];
