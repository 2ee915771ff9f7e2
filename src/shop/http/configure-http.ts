import type { NestExpressApplication } from '@nestjs/platform-express';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { loopbackHosts } from './loopback-hosts.js';
import { serveOpenApi } from './openapi.js';
import { requestManners } from './request-manners.js';
import { SameOriginGuard } from './same-origin.guard.js';
import { answerUnreadableRequests } from './unreadable-requests.js';
import { inPlainWords } from './wording.js';

/** The largest order is about 2 KB. */
const BODY_LIMIT = '64kb';
/** 10,000 recipients of 64 characters, and a message. */
const CAMPAIGN_LIMIT = '1mb';

/**
 * How long an idle connection stays: longer than clients and proxies keep theirs, so that they do
 * not send a request into a connection that is being closed.
 */
const KEEP_ALIVE_MS = 75_000;

/** Settings of the HTTP server besides the controllers. Goes with `bodyParser: false`. */
export function configureHttp(app: NestExpressApplication): void {
  z.config({ localeError: inPlainWords });
  app.disable('x-powered-by');
  const server = app.getHttpServer();
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // Must exceed keep-alive, or this timeout ends the connection instead.
  server.headersTimeout = KEEP_ALIVE_MS + 5_000;
  answerUnreadableRequests(server);
  app.use(loopbackHosts(server));
  app.use(requestManners(app));
  app.useBodyParser('json', { limit: CAMPAIGN_LIMIT, type: isCampaign });
  app.useBodyParser('json', { limit: BODY_LIMIT });
  app.useGlobalGuards(new SameOriginGuard());
  serveOpenApi(app);
}

const isCampaign = ({ url = '', headers }: IncomingMessage): boolean =>
  /^\/campaigns(?:[/?]|$)/.test(url) && /^application\/json\b/i.test(headers['content-type'] ?? '');
