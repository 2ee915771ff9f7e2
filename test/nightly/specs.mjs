/**
 * What `npm test` leaves to `npm run test:nightly`: they start servers or several processes of their own, drive a
 * browser, try what only the sample shop does, try every value of something, or take minutes. Patterns of paths, as Jest reads them.
 */
export const NIGHTLY = [
  '/test/servers/',
  '/test/docs/classics',
  '/test/page/',
  '/test/dashboard-page/',
  // The gate kills processes in its chaos, too.
  '/test/cluster/(?!crash|rolling-deploy|abort)',
  '/test/e2e/(?:campaign|merchants|webhook|feed|reconciler|lifecycle|reminders|disputes|database-away)',
  '/test/e2e/(?:race|processes|extend)',
  '/test/integration/(?:bench|mixed-versions|embedded-postgres|memory-and-rows|pages-of-wakes)',
  '/test/integration/(?:chaos-faults|rerun-model|by-whom|half-open-callers|unfit-sessions|explain-locks|forged-hints)',
  // The gate runs them on Postgres 15, with hostile settings.
  '/test/integration/(?:kept-plans|plans|admin-plans)',
  '/test/integration/dashboard/(?:long-operations|tenants|live|plans)',
  '/test/integration/engine/(?:growth|crowd|many-names|statement-sizes|unreadable-rows|idle|held-groups|full-wheel)',
  '/test/integration/engine/(?:turns|silent-sessions|odd-starts|late-claims)',
  '/test/integration/recurrences/(?:deployments|erring-estimate)',
  '/test/integration/testing/stub-contract',
  '/test/integration/catalogue/refusals',
  '/test/hostile/(?:application-life/|two-readings|fatal-handlers|users-functions|every-route|odd-handlers)',
  '/test/security/(?:foreign-owners|log-secrecy|planted-names)',
  '/test/unit/recurrence/zones',
  '/test/unit/decorators/compiled',
  '/test/tools/fresh-build',
];
