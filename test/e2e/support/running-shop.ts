import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { type DelayName, type DelayQueueOptions, DelayService } from 'nestjs-delay-queue';
import { DelayTesting } from 'nestjs-delay-queue/testing';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { DataSource } from 'typeorm';
import { AppModule } from '../../../src/app.module.js';
import { GIVEN_OPTIONS } from '../../../src/delay-queue/core/config/options.js';
import { freePort } from '../../../src/embedded-postgres/free-port.js';
import { configureHttp } from '../../../src/shop/http/configure-http.js';
import { invariants, type Invariants } from '../../../src/shop/invariants/invariants.schemas.js';
import {
  orderView,
  placedOrder,
  type OrderView,
  type PlacedOrder,
} from '../../../src/shop/orders/orders.schemas.js';
import type { PaymentStatus } from '../../../src/shop/payments/payment.entity.js';
import type { ShopConfig } from '../../../src/shop/shop.config.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { until } from '../../support/until.js';

const HOUR_MS = 3_600_000;
const SOCKETS_MAX = 100;

const LOGGED = ['fatal' as const, 'error' as const, 'warn' as const];

/** The demo, in which nothing happens by itself within a test, unless the test says so. */
const NEVER_IN_A_TEST: Omit<ShopConfig, 'databaseUrl'> = {
  payWithinMs: HOUR_MS,
  remindBeforeMs: null,
  smsAfterMs: null,
  confirmAfterMs: HOUR_MS,
  rateAfterMs: HOUR_MS,
  demo: true,
};

export interface Answer {
  status: number;
  body: any;
}

/** What is other than in the shop that `npm start` runs. */
interface ShopSetup {
  /** No delay fires before the test lets time pass. */
  travels?: boolean;
  /** Options of the queue, of a shop that travels. */
  queue?: DelayQueueOptions;
  /** Before all that the shop does with a request. */
  use?: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
}

/** As it came, for who looks at more than JSON. */
export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** The shop over real HTTP on a database of its own. */
export class RunningShop {
  /** Thousands of requests at once wait for each other, not for thousands of sockets. */
  readonly #agent = new Agent({ keepAlive: true, maxSockets: SOCKETS_MAX });

  app!: NestExpressApplication;
  /** Of a shop that {@link travels}: what lets time pass. */
  time!: DelayTesting;
  database!: TestDatabase;
  url!: string;

  private constructor(
    private readonly config: Partial<ShopConfig>,
    private readonly setup: ShopSetup = {},
  ) {}

  /** One for all tests of the block that this stands in; after each of them the invariants hold. */
  static forAll(config: Partial<ShopConfig> = {}): RunningShop {
    return new RunningShop(config).duringAll();
  }

  /** As {@link forAll}, but no delay fires before the test lets {@link time} pass. */
  static inItsTime(config: Partial<ShopConfig> = {}): RunningShop {
    return new RunningShop(config, { travels: true }).duringAll();
  }

  static async open(
    config: Partial<ShopConfig> = {},
    database?: TestDatabase,
    setup: ShopSetup = {},
  ): Promise<RunningShop> {
    const shop = new RunningShop(config, setup);
    await shop.start(database);
    return shop;
  }

  /** For the first time, or again after {@link stop}: on the same database and the same port. */
  async start(database?: TestDatabase): Promise<void> {
    this.database ??= database ?? (await createTestDatabase());
    this.app = await this.created();
    if (this.setup.travels) this.time = DelayTesting.of(this.app);
    if (this.setup.use !== undefined) this.app.use(this.setup.use);
    configureHttp(this.app);
    const port = this.url ? new URL(this.url).port : await freePort(0);
    await this.app.listen(port, '127.0.0.1');
    this.url = await this.app.getUrl();
  }

  private duringAll(): this {
    beforeAll(() => this.start());
    afterEach(() => this.mustHold());
    afterAll(() => this.close());
    return this;
  }

  private async created(): Promise<NestExpressApplication> {
    const config = { ...NEVER_IN_A_TEST, ...this.config, databaseUrl: this.database.url };
    const module = AppModule.forRoot(config);
    const options = { bodyParser: false, abortOnError: false, logger: LOGGED };
    const { travels, queue } = this.setup;
    if (!travels) return NestFactory.create<NestExpressApplication>(module, options);
    const builder = DelayTesting.prepare(Test.createTestingModule({ imports: [module] }));
    if (queue !== undefined) builder.overrideProvider(GIVEN_OPTIONS).useValue(queue);
    return (await builder.compile()).createNestApplication<NestExpressApplication>(options);
  }

  /** Stops the process's part and keeps the database, as a restart does. */
  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.app.close();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.database.drop();
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> {
    return this.send('POST', path, body === undefined ? undefined : JSON.stringify(body), headers);
  }

  async send(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const answer = await this.sendAsItIs(method, path, body, {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    });
    return { status: answer.status, body: JSON.parse(answer.text) };
  }

  /** Without a content type of its own. */
  async sendAsItIs(
    method: string,
    path: string,
    body?: string | Buffer,
    headers: Record<string, string | string[]> = {},
  ): Promise<RawAnswer> {
    const sent = request(this.url + path, { method, agent: this.#agent, headers });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      text: await textOf(response),
    };
  }

  /** Straight to the tables, for what HTTP cannot bring about. */
  sql<T = unknown>(text: string, parameters: unknown[] = []): Promise<T> {
    return this.app.get(DataSource).query<T>(text, parameters);
  }

  /** Something to sell that no other test touches. */
  async newSku({ stock = 10, price = 1000 } = {}): Promise<string> {
    const sku = `T-${randomUUID()}`;
    await this.sql(
      `INSERT INTO sku (sku, name, price, stock, initial_stock) VALUES ($1, 'a test', $2, $3, $3)`,
      [sku, price, stock],
    );
    return sku;
  }

  async stockOf(sku: string): Promise<number> {
    const { body } = await this.get('/skus');
    return body.find((found: { sku: string }) => found.sku === sku).stock;
  }

  async place(sku: string, quantity = 1): Promise<PlacedOrder> {
    const { status, body } = await this.post('/orders', { items: [{ sku, quantity }] });
    if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
    return placedOrder.parse(body);
  }

  async order(id: string): Promise<OrderView> {
    const { status, body } = await this.get(`/orders/${id}`);
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
    return orderView.parse(body);
  }

  orderWhen(id: string, accept: (order: OrderView) => boolean): Promise<OrderView> {
    return until(() => this.order(id), accept);
  }

  /** A new order, taken through these actions one after the other. */
  async orderAfter(...actions: string[]): Promise<OrderView> {
    const { id } = await this.place(await this.newSku());
    for (const action of actions) await this.act(id, action);
    return this.order(id);
  }

  /** An action that must succeed. */
  async act(id: string, action: string, body?: unknown): Promise<OrderView> {
    const answer = await this.post(`/orders/${id}/${action}`, body);
    if (answer.status !== 200) throw new Error(`${action}: ${JSON.stringify(answer)}`);
    return orderView.parse(answer.body);
  }

  callback(orderId: string, amount: number, transaction: string = randomUUID()): Promise<Answer> {
    return this.post('/payments/callback', { orderId, provider: 'test', transaction, amount });
  }

  /** The time of a delay that waits has come. */
  fallsDue(name: DelayName, key: string): Promise<unknown> {
    return this.app.get(DelayService).reschedule(name, key, { after: 0 });
  }

  /** Once so many sessions wait for what others have locked: those who came first are served first. */
  async untilWaiting(count: number): Promise<void> {
    await until(
      () =>
        this.sql<unknown[]>(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        ),
      (waiting) => waiting.length === count,
    );
  }

  /** For a payment whose order nobody can look at. */
  async paymentWhen(id: string, status: PaymentStatus): Promise<void> {
    await until(
      () => this.sql<{ status: string }[]>(`SELECT status FROM payment WHERE id = $1`, [id]),
      ([payment]) => payment?.status === status,
    );
  }

  async invariants(): Promise<Invariants> {
    return invariants.parse((await this.get('/invariants')).body);
  }

  /** The checks that do not hold now. */
  async broken(): Promise<string[]> {
    const { checks } = await this.invariants();
    return checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`);
  }

  /** For after each test: whatever it did, the invariants hold. */
  async mustHold(): Promise<void> {
    const broken = await this.broken();
    if (broken.length > 0) throw new Error(`invariants broken:\n${broken.join('\n')}`);
  }
}
