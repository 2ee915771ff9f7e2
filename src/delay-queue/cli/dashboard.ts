import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { DelayEvents, printableError } from '../core/index.js';
import { DelayAdmin, DelayService } from '../core/ops.js';
import { DASHBOARD_ACTIONS, type DashboardAction } from '../dashboard/contract.js';
import { DashboardDatabase } from '../dashboard/dashboard-database.js';
import { DashboardHandler } from '../dashboard/handler.js';
import { builtPage } from '../dashboard/page-files.js';
import { loopback, resolveDashboardOptions } from '../dashboard/options.js';
import type { DashboardQueue } from '../dashboard/queue.js';
import { apiRoutes } from '../dashboard/routes.js';
import { DelayHealth } from '../ops/delay.health.js';
import { type Arguments, WrongUsage } from './parse.js';
import { byFrom } from './filter.js';
import { type Session, withSession } from './session.js';
import { EXIT, type Run } from './terminal.js';

const PORT = 3999;

const READS: readonly DashboardAction[] = ['view', 'viewPayloads'];

/** Serves it at `/` of 127.0.0.1 until Ctrl-C, or until SIGTERM. */
export const dashboard: Run = async (context) =>
  withSession(context, async (session) => {
    const { given, terminal } = context;
    const port = portFrom(given);
    const closing = new AbortController();
    const database = new DashboardDatabase(session.dataSource, session.options);
    const options = resolveDashboardOptions({
      authorize: loopback({
        who: byFrom(given).by ?? 'command line',
        actions: actionsFrom(given),
      }),
    });
    const queue: DashboardQueue = {
      database,
      ...(await openServices(session, given)),
      queues: [],
      handlers: null,
      options: session.options,
      dashboard: options,
      closing: closing.signal,
    };
    const report = (error: unknown): void => terminal.err(printableError(error));
    const handler = new DashboardHandler(options, '', apiRoutes(queue), builtPage, report);
    const server = createServer((request, response) => {
      if (!handler.handle(request, response)) response.writeHead(404).end();
    });
    try {
      await listen(server, port);
      const { port: taken } = server.address() as AddressInfo;
      terminal.out(`http://127.0.0.1:${taken}/`);
      terminal.err(
        `${given.has('allow-changes') ? 'It may change delays.' : 'It changes nothing; --allow-changes lets it.'} Ctrl-C ends it.`,
      );
      await terminal.interruptible(async (signal) => {
        if (!signal.aborted) await once(signal, 'abort');
      });
      return EXIT.DONE;
    } finally {
      closing.abort();
      server.close();
      server.closeAllConnections();
      await database.close();
    }
  });

/** A node that runs nothing makes the changes; reads need none. */
async function openServices(
  session: Session,
  given: Arguments,
): Promise<Pick<DashboardQueue, 'admin' | 'delays' | 'health' | 'events'>> {
  if (!given.has('allow-changes')) {
    const delays = new DelayService(session.options, session.client);
    return { admin: session.reading, delays, health: null, events: null };
  }
  const node = await session.node();
  return {
    admin: node.get(DelayAdmin),
    delays: node.get(DelayService),
    health: node.get(DelayHealth),
    events: node.get(DelayEvents),
  };
}

const actionsFrom = (given: Arguments): DashboardAction[] => [
  'view',
  ...(given.has('payload') ? (['viewPayloads'] as const) : []),
  ...(given.has('allow-changes')
    ? DASHBOARD_ACTIONS.filter((action) => !READS.includes(action))
    : []),
];

/** @throws WrongUsage */
function portFrom(given: Arguments): number {
  const text = given.text('port') ?? String(PORT);
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new WrongUsage('--port must be a number from 0 to 65535');
}

/** @throws WrongUsage when another program listens there */
async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    throw new WrongUsage(`port ${port} is taken: choose another one with --port`);
  }
}
