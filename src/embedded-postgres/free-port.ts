import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Everything listens here only. */
export const HOST = '127.0.0.1';

/**
 * Below the ports that systems give to connections going out (from 32768 on Linux, from 49152
 * elsewhere). A free port among those can be gone before the server listens on it; and while a server is
 * down its clients knock all the time, until one of them gets the server's own port, is connected
 * with itself, and keeps the server out.
 */
const QUIET = { first: 20_000, last: 32_000 };

const TRIES = 50;

/**
 * A port to listen on later, or again.
 *
 * @param preferred taken when it is free. 0: no preference
 * @returns one that no connection going out gets meanwhile, unless all of those are taken
 */
export async function freePort(preferred: number, host = HOST): Promise<number> {
  if (preferred !== 0 && (await isFree(preferred, host))) return preferred;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(QUIET.first, QUIET.last);
    if (await isFree(port, host)) return port;
  }
  return (await claimable(0, host)) ?? 0;
}

const isFree = async (port: number, host: string): Promise<boolean> =>
  (await claimable(port, host)) !== undefined;

async function claimable(port: number, host: string): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    const address = server.address();
    return address && typeof address === 'object' ? address.port : undefined;
  } catch {
    return undefined;
  } finally {
    server.close();
  }
}
