import type { Session } from './contract.js';
import { operationRoutes } from './operation-routes.js';
import type { DashboardQueue } from './queue.js';
import { readRoutes } from './read-routes.js';
import type { Asked, Route } from './route.js';

/** All of `api/`. */
export const routesOf = (queue: DashboardQueue): Route[] => [
  { method: 'GET', path: 'session', needs: 'view', answer: (asked) => sessionOf(queue, asked) },
  ...readRoutes(queue),
  ...operationRoutes(queue),
];

async function sessionOf(
  { dashboard: { environment } }: DashboardQueue,
  { rights: { who, actions, names, groups } }: Asked,
): Promise<Session> {
  const { VERSION: version } = await import('./page-assets.js');
  return {
    who,
    actions: [...actions],
    names: names === null ? null : [...names],
    groups: groups === null ? null : [...groups],
    environment,
    version,
    now: new Date().toISOString(),
  };
}
