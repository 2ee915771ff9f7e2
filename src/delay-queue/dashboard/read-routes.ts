import { Logger } from '@nestjs/common';
import { printableError } from '../api/error-text.js';
import { checkInteger } from '../config/durations.js';
import type { DashboardQueue } from './queue.js';
import { DelayReader } from './delay-view.js';
import { filtered, refusalOf } from './failures.js';
import { LiveStreams } from './live.js';
import { OperationLog } from './operation-log.js';
import type { OperationNews } from './operation-news.js';
import { deadView, nameChoices, OverviewReader } from './overview.js';
import type { Asked, Route } from './route.js';
import { DelaySearch } from './search.js';
import { searchFilterIn } from './search-filter.js';
import { storyView } from './story.js';

const PAGE_MAX = 200;
const PAGE_DEFAULT = 50;

/** Of one key. */
const OPERATIONS_MAX = 50;

/** All that is read. */
export function readRoutes(queue: DashboardQueue, news: OperationNews): Route[] {
  const { database, options, dashboard, closing } = queue;
  const search = new DelaySearch(options);
  const delays = new DelayReader(options, dashboard.redact);
  const overviews = new OverviewReader(queue);
  const log = new OperationLog(database);
  const logger = new Logger('DelayQueueDashboard');
  const streams = new LiveStreams({
    overview: (rights) => overviews.read(rights),
    problemOf: (error, isNew) =>
      refusalOf(error, (unexpected) => {
        if (isNew) logger.error(printableError(unexpected));
      }).body,
    news,
    closing,
  });
  return [
    get('overview', ({ rights }) => overviews.read(rights)),
    get('search', ({ rights, query }) => {
      const filter = searchFilterIn(query);
      const page = pageIn(query);
      return filtered(
        filter,
        database.look((look) => search.page(look, filter, rights, page)),
      );
    }),
    get('delay', ({ rights, query }) => {
      const which = { id: query.get('id') ?? '', endedAt: query.get('endedAt') };
      return database.look((look) => delays.view(look, rights, which));
    }),
    get('story', async ({ rights, query }) => {
      const about = { key: query.get('key') ?? '', ...pageIn(query) };
      const story = await database.look((look) => storyView(look, options, rights, about));
      return { ...story, operations: await log.ofKey(rights, about.key, OPERATIONS_MAX) };
    }),
    get('dead', ({ rights }) => database.look((look) => deadView(look, options, rights))),
    get('names', ({ rights }) => database.look((look) => nameChoices(look, options, rights))),
    get('live', async ({ response, rights, signal }) => {
      streams.open(response, rights, signal);
    }),
  ];
}

const get = (path: string, answer: Route['answer']): Route => ({
  method: 'GET',
  path,
  needs: 'view',
  answer,
});

/** @throws DelayInvalidError */
function pageIn(query: Asked['query']): { after: string | null; limit: number } {
  const limit = query.get('limit');
  return {
    after: query.get('after'),
    limit: limit === null ? PAGE_DEFAULT : checkInteger(Number(limit), 'limit', 1, PAGE_MAX),
  };
}
