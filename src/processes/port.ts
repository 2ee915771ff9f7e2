import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { createServer } from 'node:net';
import { json } from 'node:stream/consumers';
import { codeOf } from '../embedded-postgres/embedded-postgres.error.js';
import { freePort } from '../embedded-postgres/free-port.js';
import type { ListenConfig } from '../shop/shop.config.js';
import { StartError } from '../start.error.js';

const ANSWERS_WITHIN_MS = 1_000;

/** URL for a browser on this machine. */
export function urlOf({ host, port }: ListenConfig): string {
  const anywhere = host === '0.0.0.0' || host === '::';
  const name = anywhere ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/**
 * Checks that the port can be listened on, before anything else is started.
 *
 * @returns the port; for 0 a free one, which stays free until the shop listens
 * @throws StartError
 */
export async function freePortOf({ host, port }: ListenConfig): Promise<number> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    return port === 0 ? await freePort(0, host) : port;
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE' && (await isShop({ host, port }))) {
      throw new StartError(
        `The shop already runs at ${urlOf({ host, port })}. To start another one: ` +
          `PORT=${port + 1} npm start`,
      );
    }
    throw listenTrouble(error, { host, port }) ?? error;
  } finally {
    server.close();
  }
}

/** @returns `undefined` for an error that is not about listening */
export function listenTrouble(
  error: unknown,
  { host, port }: ListenConfig,
): StartError | undefined {
  const code = codeOf(error);
  switch (code) {
    case 'EADDRINUSE':
      return new StartError(
        `Port ${port} is in use by another program. Use another one: PORT=${port + 1} npm start`,
      );
    case 'EACCES':
      return new StartError(
        `You may not listen on port ${port}. Use one from 1024 up: PORT=3000 npm start`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new StartError(
        `HOST=${host} is not an address of this machine (${code}). Unset HOST, or set it to 0.0.0.0`,
      );
    default:
      return undefined;
  }
}

/** Asks one of the shop's routes: any other server answers something else, or nothing. */
async function isShop(at: ListenConfig): Promise<boolean> {
  const request = get(`${urlOf(at)}/processes`).on('error', () => {});
  const tooLong = setTimeout(() => request.destroy(), ANSWERS_WITHIN_MS);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const processes: unknown = await json(response);
    return Array.isArray(processes) && String(processes[0]?.name).startsWith('shop-');
  } catch {
    return false;
  } finally {
    clearTimeout(tooLong);
    request.destroy();
  }
}
