import { checkInteger } from '../config/durations.js';
import type { OperationsPage, OperationView, Preview } from './contract.js';
import { notFound } from './exchange.js';
import { OperationLog } from './operation-log.js';
import type { OperationNews } from './operation-news.js';
import { orderOf, rightFor } from './operation-order.js';
import { OperationPreviews } from './operation-preview.js';
import { Operations } from './operations.js';
import type { DashboardQueue } from './queue.js';
import type { Rights } from './rights.js';
import type { Asked, Route } from './route.js';

const PAGE = 50;
const CHANGES_PAGE = 100;

/** What viewers change, and what they see of what was changed. */
export function operationRoutes(queue: DashboardQueue, news: OperationNews): Route[] {
  const log = new OperationLog(queue.database);
  const previews = new OperationPreviews(queue.database);
  const operations = new Operations(queue, log, news, (order) => previews.count(order));

  /** One that the viewer may see. */
  const seen = (id: string, rights: Rights) => log.find(rights, idOf(id));

  const preview = async ({ body, rights }: Asked): Promise<Preview> =>
    previews.preview(orderOf(body, rights));

  const page = async ({ query, rights }: Asked): Promise<OperationsPage> => {
    const after = query.get('after');
    const found = await log.page(rights, PAGE + 1, after === null ? undefined : idOf(after));
    const shown = found.slice(0, PAGE);
    const next = found.length > PAGE ? (shown.at(-1)?.id ?? null) : null;
    return { operations: shown, next };
  };

  const view = async ({ id, query, rights }: Asked): Promise<OperationView> => {
    const operation = await seen(id, rights);
    const behind = checkInteger(Number(query.get('after') ?? 0), 'after', 0, 2 ** 31 - 1);
    const found = await log.changes(operation.id, behind, CHANGES_PAGE + 1);
    const changes = found.slice(0, CHANGES_PAGE);
    const next = found.length > CHANGES_PAGE ? String(changes.at(-1)?.ord) : null;
    const shown = changes.map(({ id: of, name, key, verdict }) => ({ id: of, name, key, verdict }));
    return { operation, changes: shown, next };
  };

  const stop = async ({ id, rights }: Asked) => {
    const operation = await seen(id, rights);
    if (!rights.may(rightFor(operation.action))) throw notFound();
    return operations.stop(operation.id);
  };

  return [
    { method: 'POST', path: 'preview', needs: 'view', answer: preview },
    {
      method: 'POST',
      path: 'operations',
      needs: 'view',
      answer: ({ body, rights }) => operations.start(orderOf(body, rights), rights),
    },
    { method: 'GET', path: 'operations', needs: 'view', answer: page },
    { method: 'GET', path: 'operations/:id', needs: 'view', answer: view },
    { method: 'POST', path: 'operations/:id/stop', needs: 'view', answer: stop },
  ];
}

/** @throws Refusal */
function idOf(text: string): string {
  if (/^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))) return text;
  throw notFound();
}
