import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { RunningShop } from '../e2e/support/running-shop.js';
import { createEmptyDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';

describe('an answer of the shop', () => {
  let shop: RunningShop;
  let url: string;

  beforeAll(async () => {
    shop = await RunningShop.open();
    url = await shop.app.getUrl();
  });
  afterAll(() => shop.close());

  const REQUESTS: [path: string, method: string][] = [
    ['/skus', 'GET'],
    ['/skus', 'HEAD'],
    ['/orders', 'OPTIONS'],
    ['/orders', 'POST'],
    ['/nowhere', 'GET'],
    ['/orders/%', 'GET'],
    ['/docs', 'GET'],
    ['/docs/openapi.json', 'GET'],
  ];

  it.each(REQUESTS)(
    'to %s %s tells nothing about its server, and no other origin may read it',
    async (path, method) => {
      const headers = {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
        connection: 'close',
      };
      const answer = await fetch(`${url}${path}`, { method, headers });
      await answer.arrayBuffer();
      expect(answer.status).toBeLessThan(500);
      const names = [...answer.headers.keys()];
      expect(
        names.filter((name) => /^(?:x-powered-by|server|set-cookie|access-control-)/.test(name)),
      ).toEqual([]);
    },
  );
});

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

it('the demo listens on 127.0.0.1 and nowhere else', async () => {
  const database = await createEmptyDatabase();
  const shop = NodeProcess.start('src/main.ts', {
    env: { DATABASE_URL: database.url, PORT: '0', HOST: '' },
  });
  const [, port] = await shop.waitForOutput(/http:\/\/127\.0\.0\.1:(\d+)/);
  const others = otherAddresses();
  if (others.length === 0) console.warn('SKIPPED: this machine has no other address to try');
  expect(await answers('127.0.0.1', Number(port))).toBe(true);
  for (const host of others)
    expect({ host, answers: await answers(host, Number(port)) }).toEqual({ host, answers: false });
  await shop.kill('SIGTERM');
  await database.drop();
});
