import type { Session } from './contract.js';
import { OperationNews } from './operation-news.js';
import { operationRoutes } from './operation-routes.js';
import type { DashboardQueue } from './queue.js';
import { readRoutes } from './read-routes.js';
import type { Asked, Route } from './route.js';

/** All of `api/`. */
export function routesOf(queue: DashboardQueue): Route[] {
  const news = new OperationNews();
  return [
    { method: 'GET', path: 'session', needs: 'view', answer: (asked) => sessionOf(queue, asked) },
    ...readRoutes(queue, news),
    ...operationRoutes(queue, news),
  ];
}

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
