import { expect, it } from '@jest/globals';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { createEmptyDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';

/** Where a server that listens everywhere would be found: this machine's other addresses. */
const otherAddresses = (): string[] => [
  ...(process.platform === 'linux' ? ['127.0.0.2'] : []),
  ...Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => address),
];

async function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** As a page of another site would ask whose name points here. */
async function statusAs(host: string, path: string, port: number): Promise<number | undefined> {
  const request = get({ host: '127.0.0.1', port, path, headers: { host, connection: 'close' } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.destroy();
  return response.statusCode;
}

it('the demo listens on 127.0.0.1 and nowhere else, and it answers as localhost alone, and its pages tell nothing about their server', async () => {
  const database = await createEmptyDatabase();
  const env = { DATABASE_URL: database.url, PORT: '0', HOST: '' };
  const shop = NodeProcess.start('src/main.ts', { env });
  const [url, port] = await shop.waitForOutput(/http:\/\/127\.0\.0\.1:(\d+)/);
  const others = otherAddresses();
  if (others.length === 0) console.warn('SKIPPED: this machine has no other address to try');
  expect(await answers('127.0.0.1', Number(port))).toBe(true);
  for (const host of others)
    expect({ host, answers: await answers(host, Number(port)) }).toEqual({ host, answers: false });
  for (const path of ['/', '/docs', '/invariants', '/feed', '/docs/openapi.json']) {
    expect([path, await statusAs('rebound.example', path, Number(port))]).toEqual([path, 421]);
  }
  expect(await statusAs(`LOCALHOST.:${port}`, '/invariants', Number(port))).toBe(200);
  expect(await statusAs('localhost', '/sample-provider', Number(port))).toBe(200);
  const docs = await fetch(`${url}/docs`, { headers: { connection: 'close' } });
  expect(docs.headers.get('content-security-policy')).toMatch(
    /^default-src 'none'.*frame-ancestors 'none'/,
  );
  expect(docs.headers.get('x-content-type-options')).toBe('nosniff');
  for (const path of ['/', '/docs', '/orders/%']) {
    const { headers } = await fetch(url + path, { headers: { connection: 'close' } });
    expect([...headers.keys()].join()).not.toMatch(/x-powered-by|set-cookie|access-control-/);
  }
  await shop.kill('SIGTERM');
  await database.drop();
});
