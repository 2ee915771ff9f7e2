import { once } from 'node:events';
import { createServer } from 'node:net';

/** Everything listens here only. */
export const HOST = '127.0.0.1';

/** `preferred` when nobody listens on it, else one the system picks. 0: no preference. */
export async function freePort(preferred: number): Promise<number> {
  return (await claimable(preferred)) ?? (await claimable(0)) ?? 0;
}

async function claimable(port: number): Promise<number | undefined> {
  const server = createServer();
  try {
    server.listen(port, HOST);
    await once(server, 'listening');
    const address = server.address();
    return address && typeof address === 'object' ? address.port : undefined;
  } catch {
    return undefined;
  } finally {
    server.close();
  }
}
