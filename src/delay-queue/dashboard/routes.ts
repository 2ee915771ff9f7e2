import { integer, LATE, within } from '../core/ops.js';
import { type OperationsPage, type OperationView, rightFor, type Session } from './contract.js';
import { DelayReader } from './delay-view.js';
import { notFound } from './exchange.js';
import { filtered } from './failures.js';
import { LiveStreams } from './live.js';
import { OperationLog } from './operation-log.js';
import { parseOrder } from './operation-order.js';
import { OperationPreviews } from './operation-preview.js';
import { Operations } from './operations.js';
import { deadView, nameChoices, OverviewReader } from './overview.js';
import type { DashboardQueue } from './queue.js';
import type { Rights } from './rights.js';
import type { Asked, Route } from './route.js';
import { searchFilterIn } from './search-filter.js';
import { DelaySearch } from './search.js';
import { storyView } from './story.js';

const PAGE_MAX = 200;
const PAGE_DEFAULT = 50;
const CHANGES_PAGE = 100;

const OPERATIONS_MAX = 50;

const CLOCK_WITHIN_MS = 1_000;

/** All of `api/`. */
export function apiRoutes(queue: DashboardQueue): Route[] {
  const log = new OperationLog(queue.database);
  const overviews = new OverviewReader(queue);
  const streams = new LiveStreams(overviews, queue.closing);
  return [...readRoutes(queue, overviews, streams, log), ...operationRoutes(queue, streams, log)];
}

function readRoutes(
  queue: DashboardQueue,
  overviews: OverviewReader,
  streams: LiveStreams,
  log: OperationLog,
): Route[] {
  const { database, options, dashboard } = queue;
  const search = new DelaySearch(options);
  const delays = new DelayReader(options, dashboard.redact);
  return [
    get('session', (asked) => readSession(queue, asked)),
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
      const story = await database.look((look) => storyView(look, rights, about));
      return { ...story, operations: await log.ofKey(rights, about.key, OPERATIONS_MAX) };
    }),
    get('dead', ({ rights }) => database.look((look) => deadView(look, options, rights))),
    get('names', ({ rights }) => database.look((look) => nameChoices(look, options, rights))),
    get('live', async ({ response, rights, signal }) => {
      streams.open(response, rights, signal);
    }),
  ];
}

/** What viewers change, and what they see of what was changed. */
function operationRoutes(queue: DashboardQueue, streams: LiveStreams, log: OperationLog): Route[] {
  const previews = new OperationPreviews(queue.database);
  const operations = new Operations(
    queue,
    log,
    (line) => streams.tell(line),
    (order) => previews.count(order),
  );

  const seen = (id: string, rights: Rights) => log.find(rights, parseOperationId(id));

  return [
    post('preview', ({ body, rights }) => previews.preview(parseOrder(body, rights))),
    post('operations', ({ body, rights }) => operations.start(parseOrder(body, rights), rights)),
    get('operations', async ({ query, rights }): Promise<OperationsPage> => {
      const after = query.get('after');
      const behind = after === null ? undefined : parseOperationId(after);
      const found = await log.page(rights, PAGE_DEFAULT + 1, behind);
      const { shown, last } = firstOf(found, PAGE_DEFAULT);
      return { operations: shown, next: last?.id ?? null };
    }),
    get('operations/:id', async ({ id, query, rights }): Promise<OperationView> => {
      const operation = await seen(id, rights);
      const behind = integer(0, 2 ** 31 - 1)(Number(query.get('after') ?? 0), 'after');
      const found = await log.changes(operation.id, behind, CHANGES_PAGE + 1);
      const { shown, last } = firstOf(found, CHANGES_PAGE);
      return {
        operation,
        changes: shown.map(({ id: of, name, key, verdict }) => ({ id: of, name, key, verdict })),
        next: last === undefined ? null : String(last.ord),
      };
    }),
    post('operations/:id/stop', async ({ id, rights }) => {
      const operation = await seen(id, rights);
      if (!rights.may(rightFor(operation.action))) throw notFound();
      return operations.stop(operation.id);
    }),
  ];
}

const get = (path: string, answer: Route['answer']): Route => ({ method: 'GET', path, answer });
const post = (path: string, answer: Route['answer']): Route => ({ method: 'POST', path, answer });

/** A page, and its last one if there are more. */
function firstOf<Row>(found: readonly Row[], limit: number): { shown: Row[]; last?: Row } {
  const shown = found.slice(0, limit);
  return found.length > limit ? { shown, last: shown.at(-1)! } : { shown };
}

function pageIn(query: Asked['query']): { after: string | null; limit: number } {
  const limit = query.get('limit');
  return {
    after: query.get('after'),
    limit: limit === null ? PAGE_DEFAULT : integer(1, PAGE_MAX)(Number(limit), 'limit'),
  };
}

function parseOperationId(text: string): string {
  if (/^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))) return text;
  throw notFound();
}

async function readSession(
  { database, dashboard, queues }: DashboardQueue,
  { rights: { who, actions, names, groups } }: Asked,
): Promise<Session> {
  const { VERSION: version } = await import('./page-assets.js');
  const looking = database.look((look) => look.nowMs()).catch((): typeof LATE => LATE);
  const nowMs = await within(looking, CLOCK_WITHIN_MS);
  return {
    who,
    actions,
    names,
    groups,
    environment: dashboard.environment,
    queues,
    version,
    // The page counts from the database's clock; it opens without one, to say that the database is away.
    now: new Date(nowMs === LATE ? Date.now() : nowMs).toISOString(),
  };
}
