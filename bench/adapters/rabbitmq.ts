import { load } from '../peers/load.js';
import { missingServer } from '../server/programs.js';
import { RABBITMQ_SERVER } from '../server/rabbitmq-server.js';
import type { Batch, BenchProducer, BenchWorker, Hears } from './adapter.js';
import type { AmqpConfirmChannel, AmqpConnection, AmqpPackage } from './amqplib.surface.js';
import { missingPackages, named, type PeerAdapter } from './peer.js';

const PACKAGE = 'amqplib';
const PREFETCH = 200;
const FILL_PAGE = 1_000;

/** Queues whose messages have become due, and the exchange that takes them there. */
const DUE = 'bench.due';

/** Beyond so many seconds a fill keeps to a single queue: nobody has one for each second of a month. */
const FAR_SECONDS = 600;
const FAR_TTL_MS = 2 ** 32 - 1;

export const RABBITMQ: PeerAdapter = {
  name: 'RabbitMQ',
  get settings() {
    return (
      `RabbitMQ: ${RABBITMQ_SERVER.settings}, ${named(PACKAGE)}; a TTL queue for each whole second ` +
      'of delay (rounded up) and a dead-letter exchange, which classic queues serve at most once; ' +
      `durable classic queues, persistent, confirms, prefetch ${PREFETCH}; ` +
      'done with means that the ack was sent, which is never answered; cannot cancel'
    );
  },
  missing: () => [...missingPackages(PACKAGE), ...missingServer('rabbitmq-server')],
  elsewhere: RABBITMQ_SERVER,
  prepare,
  fill: (_url, batch) => fill(batch),
  openWorker: (_url, _running, hears) => openWorker(hears),
  openProducer,
  left: () => RABBITMQ_SERVER.messages(),
};

async function connect(): Promise<AmqpConnection> {
  const { connect: open } = await load<AmqpPackage>(PACKAGE);
  const connection = await open(RABBITMQ_SERVER.url);
  connection.on('error', report);
  return connection;
}

const report = (error: Error): void => void process.stderr.write(`RabbitMQ: ${error.message}\n`);

async function prepare(): Promise<void> {
  await RABBITMQ_SERVER.empty();
  const connection = await connect();
  const channel = await connection.createChannel();
  await channel.assertExchange(DUE, 'direct', { durable: true });
  await channel.assertQueue(DUE, { durable: true, arguments: {} });
  await channel.bindQueue(DUE, DUE, DUE);
  await connection.close();
}

/** Schedules on one channel; a queue is declared when its first message needs it. */
class Sender {
  readonly #declared = new Map<number, Promise<unknown>>();

  constructor(private readonly channel: AmqpConfirmChannel) {}

  /** Resolves when the broker has written the message to its disk. */
  async send(n: number, dueInMs: number, ttlMs: number): Promise<void> {
    const dueMs = Date.now() + dueInMs;
    const queue = ttlMs > 0 ? await this.#waiting(ttlMs) : DUE;
    await new Promise<void>((resolve, reject) => {
      this.channel.sendToQueue(
        queue,
        Buffer.from(JSON.stringify({ n })),
        { persistent: true, headers: { dueMs } },
        (error) => (error === null ? resolve() : reject(error)),
      );
    });
  }

  async #waiting(ttlMs: number): Promise<string> {
    const name = `bench.wait.${ttlMs}`;
    let declared = this.#declared.get(ttlMs);
    if (declared === undefined) {
      declared = this.channel.assertQueue(name, {
        durable: true,
        arguments: {
          'x-message-ttl': ttlMs,
          'x-dead-letter-exchange': DUE,
          'x-dead-letter-routing-key': DUE,
        },
      });
      this.#declared.set(ttlMs, declared);
    }
    await declared;
    return name;
  }
}

/** The next whole second: all messages of a queue wait for the same time, so the first is due first. */
const ttlOf = (dueInMs: number): number => Math.ceil(dueInMs / 1_000) * 1_000;

/** What is overdue stands where the exchange would have brought it. */
async function fill({ first, count, dueFromMs, dueToMs }: Batch): Promise<void> {
  const connection = await connect();
  const sender = new Sender(await connection.createConfirmChannel());
  for (let done = 0; done < count; done += FILL_PAGE) {
    const sending = Array.from({ length: Math.min(FILL_PAGE, count - done) }, (_, index) => {
      const dueInMs = dueFromMs + ((dueToMs - dueFromMs) * (done + index)) / count;
      const isFar = dueInMs > FAR_SECONDS * 1_000;
      return sender.send(first + done + index, dueInMs, isFar ? FAR_TTL_MS : ttlOf(dueInMs));
    });
    await Promise.all(sending);
  }
  await connection.close();
}

async function openWorker(hears: Hears): Promise<BenchWorker> {
  const connection = await connect();
  const channel = await connection.createChannel();
  channel.on('error', report);
  await channel.prefetch(PREFETCH);
  return {
    async start() {
      await channel.consume(DUE, (message) => {
        if (message === null) return;
        const { n } = JSON.parse(message.content.toString()) as { n: number };
        hears.handled(n, Number(message.properties.headers?.dueMs));
        channel.ack(message);
        // Less than what the others say: an ack that is lost on the way brings the message again.
        hears.settled();
      });
    },
    async stop() {
      await channel.close();
      await connection.close();
    },
  };
}

async function openProducer(): Promise<BenchProducer> {
  const connection = await connect();
  const sender = new Sender(await connection.createConfirmChannel());
  return {
    schedule: (n, dueInMs) => sender.send(n, dueInMs, ttlOf(dueInMs)),
    async scheduleMany(first, count, dueInMs) {
      const ttlMs = ttlOf(dueInMs);
      await Promise.all(
        Array.from({ length: count }, (_, index) => sender.send(first + index, dueInMs, ttlMs)),
      );
    },
    stop: () => connection.close(),
  };
}
