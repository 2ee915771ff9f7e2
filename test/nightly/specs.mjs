/**
 * What `npm test` leaves to `npm run test:nightly`: they start servers or several processes of their own, drive a
 * browser through every view, try what only the sample shop does, or take minutes. Patterns of paths, as Jest reads them.
 */
export const NIGHTLY = [
  '/test/servers/',
  '/test/docs/classics',
  '/test/integration/bench',
  '/test/integration/at-night',
  '/test/integration/mixed-versions',
  '/test/page/',
  '/test/dashboard-page/(?!understand)',
  // The gate kills processes in its chaos, too.
  '/test/cluster/(?!crash|rolling-deploy|abort)',
  '/test/e2e/(?:campaign|merchants|webhook|feed|reconciler|lifecycle|reminders|disputes|database-away)',
  '/test/integration/dashboard/long-operations',
  '/test/integration/engine/(?:growth|crowd|many-names)',
  '/test/integration/(?:embedded-postgres|memory-and-rows|pages-of-wakes)',
  '/test/hostile/application-life/',
  '/test/tools/fresh-build',
];
