import type { IncomingMessage, ServerResponse } from 'node:http';
import { CHANGE_HEADER } from './contract.js';
import { problemFor, textFor } from './door.js';
import { readBody, notFound, Refusal, sendJson } from './exchange.js';
import { asRefusal, type Report } from './failures.js';
import type { ResolvedDashboardOptions } from './options.js';
import { type PageFiles, sendFile } from './page-files.js';
import { type Rights, resolveRights } from './rights.js';
import { type Route, routeFor } from './route.js';

/** A request as Express and Fastify's middleware pass it on: `url` lacks the prefix that the application is mounted under. */
export type HostRequest = IncomingMessage;

export class DashboardHandler {
  readonly #below: RegExp;

  /** @param address its path on the application's HTTP server */
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
      rights = await resolveRights(request, this.options.authorize);
      if (rights === undefined) throw notFound();
      await this.#answer(request, response, rest, query, rights);
    } catch (error) {
      const refusal = asRefusal(error, this.report);
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
      // Assets are addressed relative to the page, so its address must end with a slash.
      if (rest === '') return redirectToSlash(response, this.options.path, query);
      return sendFile(this.files, rest.slice(1) || 'index.html', request, response);
    }
    const found = routeFor(this.routes, method, rest.slice('/api/'.length));
    if (found === undefined) throw notFound();
    refuseForged(request);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    // The viewer has left: there is no one to answer.
    response.on('error', () => {});
    const body = method === 'POST' ? await readBody(request) : undefined;
    const { route, id } = found;
    const answer = await route.answer({ rights, query, id, body, signal: gone.signal, response });
    if (answer !== undefined) sendJson(response, 200, textFor(rights, answer));
  }
}

/** Relative, because a proxy may have stripped a prefix. */
function redirectToSlash(response: ServerResponse, path: string, query: URLSearchParams): void {
  const rest = query.size > 0 ? `?${query.toString()}` : '';
  response.statusCode = 308;
  response.setHeader('location', `${path.split('/').at(-1)}/${rest}`);
  response.setHeader('cache-control', 'no-store');
  response.end();
}

/**
 * Browsers say which site a request comes from. Before another site's request may carry our header,
 * they ask this server, which never allows it.
 */
function refuseForged({ method, headers }: HostRequest): void {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  if (isOwn && (method !== 'POST' || headers[CHANGE_HEADER] === '1')) return;
  throw new Refusal('forged', 'The request does not come from the dashboard. Reload its page.');
}
