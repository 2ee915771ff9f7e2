import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { HttpAdapterHost } from '@nestjs/core';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  get,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { Connections } from '../../../src/shop/http/connections.js';
import { until } from '../../support/until.js';

const REQUEST = 'GET / HTTP/1.1\r\nHost: shop\r\n\r\n';
const UNFINISHED = 'POST / HTTP/1.1\r\nHost: shop\r\nContent-Length: 9\r\n\r\n';

const untilRead = (socket: Socket, count: number): Promise<number> =>
  until(
    () => socket.bytesRead,
    (bytes) => bytes >= count,
  );

/** Each test ends only if the server has let go of all connections. */
describe('the connections of a shop that stops', () => {
  let server: Server;
  let port: number;
  const asked: ServerResponse[] = [];
  const clients: Socket[] = [];
  let connections: Connections;

  beforeEach(async () => {
    server = createServer((_, response) => void asked.push(response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    ({ port } = server.address() as AddressInfo);
    const host = { httpAdapter: { getHttpServer: () => server } };
    connections = new Connections(host as unknown as HttpAdapterHost);
    connections.onApplicationBootstrap();
  });
  afterEach(() => {
    jest.useRealTimers();
    asked.length = 0;
    for (const each of clients.splice(0)) each.destroy();
    server.close();
    server.closeAllConnections();
  });

  /** A client of whom the server has read that much. */
  async function client(sends: string): Promise<Socket> {
    const accepted = once(server, 'connection');
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    clients.push(socket);
    socket.write(sends);
    const [at] = (await accepted) as [Socket];
    await untilRead(at, sends.length);
    return socket;
  }

  it.each([
    ['has sent nothing, as browsers keep some ready', ''],
    ['is in the middle of its headers', 'GET / HTTP/1.1\r\nHost: '],
  ])('end when one %s', async (_, sends) => {
    const ended = once((await client(sends)).resume(), 'close');
    await connections.beforeApplicationShutdown();
    expect(server.listening).toBe(false);
    await ended;
  });

  it('end when one was answered, and is in the middle of its next request', async () => {
    const socket = await client(REQUEST);
    asked[0]!.end();
    await once(socket, 'data');
    socket.write('GET / HTT');
    await untilRead(asked[0]!.req.socket, REQUEST.length + 1);
    await connections.beforeApplicationShutdown();
    expect(asked[0]!.req.socket.destroyed).toBe(true);
  });

  it('wait for the answers to requests that came, and end with them though they were to be kept', async () => {
    const agent = new Agent({ keepAlive: true });
    const question = get({ port, host: '127.0.0.1', agent });
    const answer = once(question, 'response');
    await until(
      () => asked.length,
      (count) => count === 1,
    );
    const pipelining = await client(REQUEST + REQUEST);
    const stopped = connections.beforeApplicationShutdown();
    expect(server.listening).toBe(false);
    asked[0]!.end('in full');
    const [response] = (await answer) as [IncomingMessage];
    expect(await text(response)).toBe('in full');

    const heard = text(pipelining);
    asked[1]!.end('one');
    await once(asked[1]!, 'close');
    asked[2]!.end('two');
    expect(await heard).toMatch(/one[^]*two$/);
    await stopped;
    agent.destroy();
  });

  it('end when a request does not come to its end in time', async () => {
    const ended = once((await client(UNFINISHED)).resume(), 'close');
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const stopped = connections.beforeApplicationShutdown();
    jest.advanceTimersByTime(12_000);
    await stopped;
    expect(asked[0]!.req.socket.destroyed).toBe(true);
    await ended;
  });
});

it('a shop without HTTP, which only runs handlers, starts and stops', async () => {
  const none = new Connections({ httpAdapter: null } as unknown as HttpAdapterHost);
  none.onApplicationBootstrap();
  await expect(none.beforeApplicationShutdown()).resolves.toBeUndefined();
});
