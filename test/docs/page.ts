import { afterEach } from '@jest/globals';
import {
  type DynamicModule,
  type INestApplicationContext,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DelayEvents,
  type DelayName,
  type DelayQueueOptions,
  DelayService,
  type ScheduleItem,
} from 'nestjs-delay-queue';
import { on } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DataSource } from 'typeorm';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.js';
import { appModule } from '../support/delay-node.js';
import { type OpenTransaction, OpenTransactions } from '../support/open-transactions.js';
import { until } from '../support/until.js';
import { codeBlocks, readDocument } from './documents.js';
import { unpack, type Unpacked } from './unpacked.js';

const HAPPENS_WITHIN_MS = 90_000;

/** What blocks export, by name; `code-blocks.spec.ts` has their types checked. */
type Code = Record<string, any>;

@Module({})
class Application {}

/** A document, executed as it stands: its `sql` blocks have made their tables in a database of its own. */
export class Page {
  readonly #apps: App[] = [];
  readonly #transactions = new OpenTransactions();

  private constructor(
    readonly blocks: Unpacked,
    readonly database: TestDatabase,
    readonly dataSource: DataSource,
  ) {}

  /** @param tables whether the library's are there, or nothing yet */
  static async open(path: string, tables: 'migrated' | 'none'): Promise<Page> {
    const document = readDocument(path);
    const database = await (tables === 'none' ? createEmptyDatabase() : createTestDatabase());
    const { url } = database;
    process.env.DATABASE_URL = url;
    const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
    // The sample shop's tables have names that pages want.
    await dataSource.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
    for (const { code } of codeBlocks(document, 'sql')) await dataSource.query(code);
    return new Page(unpack(document), database, dataSource);
  }

  async load(file: string): Promise<Code> {
    return (await import(pathToFileURL(join(this.blocks.folder, file)).href)) as Code;
  }

  /** An application with these providers beside the library. */
  start(providers: Provider[] = [], options: DelayQueueOptions = {}): Promise<App> {
    return this.run(appModule({ url: this.database.url, providers, options }));
  }

  /** An application that has the library from a module of the page. */
  startWith(imports: (Type | DynamicModule)[], providers: Provider[] = []): Promise<App> {
    const database = TypeOrmModule.forRoot({ type: 'postgres', url: this.database.url });
    return this.run({ module: Application, imports: [database, ...imports], providers });
  }

  async run(module: Type | DynamicModule): Promise<App> {
    const quiet = { logger: false, abortOnError: false } as const;
    return this.take(await NestFactory.createApplicationContext(module, quiet));
  }

  /** An application that code of the page has made; it ends with the page. */
  take(context: INestApplicationContext): App {
    const app = new App(
      (token) => context.get(token),
      () => context.close(),
    );
    this.#apps.push(app);
    return app;
  }

  /** Statements of whoever stands beside the application. */
  sql<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.dataSource.query<Row[]>(text, values);
  }

  /** Holds what it locks until it is committed, so that a race goes the way that the test wants. */
  async hold(text: string): Promise<OpenTransaction> {
    const transaction = await this.#transactions.begin(this.dataSource);
    await transaction.manager.query(text);
    return transaction;
  }

  /** Resolves when that many sessions of this database wait for a lock. */
  async waiting(sessions: number): Promise<void> {
    await until(
      () =>
        this.sql(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        ),
      ({ length }) => length === sessions,
    );
  }

  async close(): Promise<void> {
    await this.#transactions.rollbackAll();
    for (const app of this.#apps) await app.stop();
    await this.dataSource.destroy();
    this.blocks.remove();
    await this.database.drop();
  }
}

const ofThisTest: Page[] = [];

afterEach(async () => {
  for (const page of ofThisTest.splice(0)) await page.close();
});

/** A document for the length of a test. */
export async function openPage(path: string, tables: 'migrated' | 'none'): Promise<Page> {
  const page = await Page.open(path, tables);
  ofThisTest.push(page);
  return page;
}

/**
 * A page of `docs/recipes` for the length of a test, and what its blocks export.
 * @param onlyCompiled blocks that Jest cannot load
 */
export async function recipe(
  name: string,
  onlyCompiled: readonly string[] = [],
): Promise<[page: Page, code: Code]> {
  const page = await openPage(`docs/recipes/${name}`, 'migrated');
  const code: Code = {};
  for (const { file } of page.blocks.files) {
    if (!onlyCompiled.includes(file)) Object.assign(code, await page.load(file));
  }
  return [page, code];
}

/** Pages have names of their own, which are declared in them alone. */
const named = (name: string): DelayName => name as DelayName;

/** An application with the code of a page in it. */
export class App {
  readonly delays: DelayService;

  constructor(
    /** What a page's own class has is not known here. */
    readonly get: <T>(token: Type<T>) => unknown extends T ? any : T,
    readonly stop: () => Promise<void>,
  ) {
    this.delays = get(DelayService);
  }

  find(name: string, key: string): ReturnType<DelayService['find']> {
    return this.delays.find(named(name), key);
  }

  /** How long it waits in all, in whole seconds: due times are rounded up, instants of creation are not. */
  async waitsSeconds(name: string, key: string): Promise<number> {
    const delay = await this.find(name, key);
    return Math.floor((Number(delay?.dueAt) - Number(delay?.createdAt)) / 1_000);
  }

  history(name: string, key: string): ReturnType<DelayService['history']> {
    return this.delays.history(named(name), key);
  }

  /** The next event of that kind about this delay. */
  async next(kind: string, name: string, key: string): Promise<Record<string, unknown>> {
    const signal = AbortSignal.timeout(HAPPENS_WITHIN_MS);
    for await (const [event] of on(this.get(DelayEvents), kind, { signal })) {
      if (event.name === name && event.key === key) return event;
    }
    throw new Error('there are always more');
  }

  /** A delay for each key, due now. */
  async scheduleNow(name: string, keys: string[], payloadOf: (key: string) => object) {
    const items = keys.map((key) => ({ name, payload: payloadOf(key), key, after: 0 }));
    await this.delays.scheduleMany(items as ScheduleItem[]);
  }

  /** Resolves when history has an end of each of these keys. */
  async ended(name: string, ...keys: string[]): Promise<void> {
    await until(
      () => Promise.all(keys.map((key) => this.history(name, key))),
      (ends) => ends.every(({ length }) => length > 0),
    );
  }

  /** Makes a delay due that waits. @returns the event of that kind about it */
  async fire(name: string, key: string, kind = 'completed'): Promise<Record<string, unknown>> {
    const happened = this.next(kind, name, key);
    const { verdict } = await this.delays.reschedule(named(name), key, { after: 0 });
    // It may have begun by itself meanwhile.
    if (verdict !== 'rescheduled' && verdict !== 'running')
      throw new Error(`${name} of ${key} is ${verdict}`);
    return happened;
  }
}
