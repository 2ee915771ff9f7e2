import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The only address that anything listens on. */
export const HOST = '127.0.0.1';

/**
 * Below the ephemeral ports (from 32768 on Linux, from 49152 elsewhere). An ephemeral port may be
 * taken before the server listens on it. And while a server is down, its clients reconnect all the
 * time, until one gets the server's own port as its local port, connects to itself, and keeps the
 * server out.
 */
const QUIET = { first: 20_000, last: 32_000 };

const TRIES = 50;

/**
 * A port to listen on later, or again.
 *
 * @param preferred taken if it is free. 0: no preference
 * @returns a port outside the ephemeral range, unless all tries found theirs taken
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
