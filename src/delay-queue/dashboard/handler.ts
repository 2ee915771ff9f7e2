import type { IncomingMessage, ServerResponse } from 'node:http';
import { CHANGE_HEADER } from './contract.js';
import { problemFor, textFor } from './door.js';
import { bodyOf, notFound, Refusal, sendJson } from './exchange.js';
import { refusalOf, type Report } from './failures.js';
import type { ResolvedDashboardOptions } from './options.js';
import { type PageFiles, sendFile } from './page-files.js';
import { type Rights, rightsOf } from './rights.js';
import { type Route, routeFor } from './route.js';

/** A request as Express and Fastify's middleware have it: `url` lacks what the application is mounted below. */
export type HostRequest = IncomingMessage;

/** Answers all requests below the dashboard's path. */
export class DashboardHandler {
  readonly #below: RegExp;

  /** @param address where it stands below the HTTP server of the application */
  constructor(
    private readonly options: ResolvedDashboardOptions,
    address: string,
    private readonly routes: readonly Route[],
    private readonly files: PageFiles,
    private readonly report: Report,
  ) {
    const escaped = address.replaceAll('.', '\\.');
    this.#below = new RegExp(`^${escaped}(?<rest>|/|/[\\w-]+\\.(?:js|css)|/api/[\\w/-]+)$`);
  }

  /** @returns whether it is a request of the dashboard; if so, it is answered, and nothing throws */
  handle(request: HostRequest, response: ServerResponse): boolean {
    const [path = ''] = (request.url ?? '').split('?', 1);
    const query = request.url?.slice(path.length + 1) ?? '';
    const rest = this.#below.exec(path)?.groups?.['rest'];
    if (rest === undefined) return false;
    void this.#answered(request, response, rest, new URLSearchParams(query));
    return true;
  }

  async #answered(
    request: HostRequest,
    response: ServerResponse,
    rest: string,
    query: URLSearchParams,
  ): Promise<void> {
    let rights: Rights | undefined;
    try {
      rights = await rightsOf(request, this.options.authorize);
      if (rights === undefined) throw notFound();
      await this.#answer(request, response, rest, query, rights);
    } catch (error) {
      const refusal = refusalOf(error, this.report);
      const body = problemFor(rights, refusal.body);
      sendJson(response, refusal.status, textFor(rights, body));
    }
  }

  async #answer(
    request: HostRequest,
    response: ServerResponse,
    rest: string,
    query: URLSearchParams,
    rights: Rights,
  ): Promise<void> {
    const { method = '' } = request;
    if (!rest.startsWith('/api/')) {
      if (method !== 'GET' && method !== 'HEAD') throw notFound();
      // Assets stand beside the page, so its address must end with a slash.
      if (rest === '') return redirectToSlash(response, this.options.path, query);
      return sendFile(this.files, rest.slice(1) || 'index.html', request, response);
    }
    const found = routeFor(this.routes, method, rest.slice('/api/'.length));
    if (found === undefined || !rights.may(found.route.needs)) throw notFound();
    refuseForged(request);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    // A viewer that has gone needs no answer.
    response.on('error', () => {});
    const body = method === 'POST' ? await bodyOf(request) : undefined;
    const { route, id } = found;
    const answer = await route.answer({ rights, query, id, body, signal: gone.signal, response });
    if (answer !== undefined) sendJson(response, 200, textFor(rights, answer));
  }
}

/** Relative, since a proxy may have taken away what stands before it. */
function redirectToSlash(response: ServerResponse, path: string, query: URLSearchParams): void {
  const rest = query.size > 0 ? `?${query.toString()}` : '';
  response.statusCode = 308;
  response.setHeader('location', `${path.split('/').at(-1)}/${rest}`);
  response.setHeader('cache-control', 'no-store');
  response.end();
}

/**
 * Browsers say which site a request comes from. For another site they send no header of ours without
 * having asked this server first, which never allows it.
 */
function refuseForged({ method, headers }: HostRequest): void {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  if (isOwn && (method !== 'POST' || headers[CHANGE_HEADER] === '1')) return;
  throw new Refusal('forged', 'The request does not come from the dashboard. Reload its page.');
}
