import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type DelayNode, fencedHandler, signal, startNode } from '../support/delay-node.js';

/** An async context says where a callback was made, not on whose behalf it runs. */
const NAME = 'test.own';
const LATER = { after: '1h' } as const;

let database: TestDatabase;
let node: DelayNode;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await node.stop();
  await database.drop();
});

const start = async (...providers: Parameters<typeof startNode>[0]['providers'] & object) => {
  node = await startNode({ url: database.url, providers });
};

const fire = () => node.delays.schedule(NAME, null, { after: 0, key: 'k' });

describe('a socket that was first opened inside a transactional handler', () => {
  let server: Server;
  let socket: Socket | undefined;

  beforeEach(async () => {
    server = createServer((peer) => peer.pipe(peer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(async () => {
    socket?.destroy();
    server.close();
    await once(server, 'close');
  });

  /** Each message is an order that somebody places: it has nothing to do with the handler. */
  function openBus(answered: (answer: unknown) => void): Socket {
    const { port } = server.address() as { port: number };
    const opened = connect(port, '127.0.0.1');
    opened.on('data', (data) => {
      const key = data.toString();
      void node.delays
        .schedule('test.a', { n: 1 }, { ...LATER, key })
        .then(answered, (error: unknown) => answered(error));
    });
    return opened;
  }

  it('carries messages of others, whose delays are theirs: never lost with the handler', async () => {
    const answers: unknown[] = [];
    let heard = signal();
    const during = signal();
    await start(
      fencedHandler(
        NAME,
        async () => {
          socket ??= openBus((answer) => {
            answers.push(answer);
            heard.resolve();
          });
          socket.write('during');
          await heard.promise;
          during.resolve();
          throw new Error('rolled back');
        },
        { maxAttempts: 1 },
      ),
    );
    const dead = node.next('dead');
    await fire();
    await Promise.all([during.promise, dead]);
    // Told during the handler that it is not clear what is meant: nobody believes that it is scheduled.
    expect(answers[0]).toMatchObject({ code: 'DELAY_INVALID', field: 'manager' });
    expect(await node.delays.find('test.a', 'during')).toBeNull();
    heard = signal();
    socket?.write('afterwards');
    await heard.promise;
    expect(answers[1]).toMatchObject({ verdict: 'scheduled' });
    expect(await node.delays.find('test.a', 'afterwards')).toMatchObject({ state: 'scheduled' });
  });

  it('works all the time when it says that its transactions are its own', async () => {
    const answer = signal<unknown>();
    await start(
      fencedHandler(
        NAME,
        async () => {
          const { port } = server.address() as { port: number };
          socket = connect(port, '127.0.0.1');
          socket.on('data', () => {
            const options = { ...LATER, key: 'others', manager: 'own' } as const;
            node.delays.schedule('test.a', { n: 1 }, options).then(answer.resolve, answer.reject);
          });
          socket.write('x');
          await answer.promise;
          throw new Error('rolled back');
        },
        { maxAttempts: 1 },
      ),
    );
    const dead = node.next('dead');
    await fire();
    await dead;
    expect(await answer.promise).toMatchObject({ verdict: 'scheduled' });
    expect(await node.delays.find('test.a', 'others')).toMatchObject({ state: 'scheduled' });
  });
});
