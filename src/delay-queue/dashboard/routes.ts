import { SearchStore } from './store/search.store.js';
import { LATE, within } from '../tasks/signal.js';
import type { Session } from './contract.js';
import { OperationNews } from './operation-news.js';
import { operationRoutes } from './operation-routes.js';
import type { DashboardQueue } from './queue.js';
import { readRoutes } from './read-routes.js';
import type { Asked, Route } from './route.js';

const CLOCK_WITHIN_MS = 1_000;

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
  queue: DashboardQueue,
  { rights: { who, actions, names, groups } }: Asked,
): Promise<Session> {
  const { VERSION: version } = await import('./page-assets.js');
  return {
    who,
    actions: [...actions],
    names: names === null ? null : [...names],
    groups: groups === null ? null : [...groups],
    environment: queue.dashboard.environment,
    version,
    now: new Date(await nowMsOf(queue)).toISOString(),
  };
}

/** The page counts from the database's clock; it opens without one, to say that the database is away. */
async function nowMsOf({ database, options }: DashboardQueue): Promise<number> {
  const store = new SearchStore(options.installation);
  const looking = database.look((look) => store.nowMs(look)).catch((): typeof LATE => LATE);
  const nowMs = await within(looking, CLOCK_WITHIN_MS);
  return nowMs === LATE ? Date.now() : nowMs;
}
