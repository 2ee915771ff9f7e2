import type { INestApplicationContext, Provider, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DelayEvents,
  type DelayEventMap,
  type DelayName,
  type DelayQueueOptions,
  delayQueueMigrations,
  DelayService,
  runMigrations,
  type ScheduleItem,
} from 'nestjs-delay-queue';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { DataSource, type QueryRunner } from 'typeorm';
import { createEmptyDatabase, type TestDatabase } from '../../support/database.js';
import { appModule } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { codeBlocks, type Document, readDocument } from '../documents.js';
import { unpack, type Unpacked } from '../unpacked.js';

const ENDS_WITHIN_MS = 30_000;

/** How an attempt can end well. */
type End = 'completed' | 'superseded';

/**
 * A page of `docs/recipes`, executed as it stands: its `sql` blocks have made the tables of a database of its
 * own, and its `ts` blocks are modules.
 */
export class Recipe {
  readonly #apps: INestApplicationContext[] = [];
  readonly #held = new Set<QueryRunner>();

  private constructor(
    readonly database: TestDatabase,
    readonly dataSource: DataSource,
    private readonly blocks: Unpacked,
  ) {}

  static async open(page: string): Promise<Recipe> {
    const document: Document = readDocument(`docs/recipes/${page}`);
    const database = await createEmptyDatabase();
    const { url } = database;
    const migrations = delayQueueMigrations();
    const dataSource = await new DataSource({ type: 'postgres', url, migrations }).initialize();
    const recipe = new Recipe(database, dataSource, unpack(document));
    try {
      await runMigrations(dataSource);
      for (const { code } of codeBlocks(document, 'sql')) await dataSource.query(code);
      return recipe;
    } catch (error) {
      await recipe.close();
      throw error;
    }
  }

  /** What a block exports; `code-blocks.spec.ts` has its types checked. */
  async load<Exports>(file: string): Promise<Exports> {
    const exports: Exports = await import(pathToFileURL(join(this.blocks.folder, file)).href);
    return exports;
  }

  /** An application with these providers on the page's database. */
  start(providers: Provider[] = [], options: DelayQueueOptions = {}): Promise<RunningApp> {
    return this.startModule(appModule({ url: this.database.url, providers, options }));
  }

  async startModule(module: Parameters<typeof NestFactory.create>[0]): Promise<RunningApp> {
    const app = await NestFactory.createApplicationContext(module, {
      logger: false,
      abortOnError: false,
    });
    this.#apps.push(app);
    return new RunningApp(app);
  }

  /** Statements of whoever stands beside the application. */
  async sql<Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> {
    return this.dataSource.query<Row[]>(text, values);
  }

  /** Holds that row until `release`, so that a race goes the way that the test wants. */
  async hold(text: string, values: unknown[]): Promise<{ release(): Promise<void> }> {
    const runner = this.dataSource.createQueryRunner();
    this.#held.add(runner);
    await runner.startTransaction();
    await runner.query(text, values);
    return { release: () => this.#release(runner) };
  }

  /** Resolves when that many sessions of this database wait for a lock. */
  async waiting(sessions: number): Promise<void> {
    await until(
      () =>
        this.sql<{ count: number }>(
          `SELECT count(*)::int AS count FROM pg_stat_activity
           WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        ),
      ([row]) => row?.count === sessions,
    );
  }

  async #release(runner: QueryRunner): Promise<void> {
    this.#held.delete(runner);
    await runner.commitTransaction();
    await runner.release();
  }

  async close(): Promise<void> {
    for (const runner of this.#held) await this.#release(runner);
    for (const app of this.#apps) await app.close();
    await this.dataSource.destroy();
    this.blocks.remove();
    await this.database.drop();
  }
}

/** Pages have names of their own, which are declared in them alone. */
const named = (name: string): DelayName => name as DelayName;

/** An application with the code of a page in it. */
export class RunningApp {
  readonly delays: DelayService;
  readonly events: DelayEvents;

  constructor(private readonly app: INestApplicationContext) {
    this.delays = app.get(DelayService);
    this.events = app.get(DelayEvents);
  }

  get<Instance>(token: Type<Instance>): Instance {
    return this.app.get(token);
  }

  stop(): Promise<void> {
    return this.app.close();
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

  /** The ends of that key, the newest first. */
  async ends(name: string, key: string): Promise<string[]> {
    return (await this.history(name, key)).map(({ state }) => state);
  }

  /** The next event of that kind about this delay. */
  next<Kind extends 'started' | 'retrying' | 'dead' | 'postponed' | End>(
    kind: Kind,
    name: string,
    key: string,
  ): Promise<DelayEventMap[Kind][0]> {
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer);
        this.events.off(kind, listener);
      };
      const listener = (data: DelayEventMap[Kind][0]): void => {
        const about = data as DelayEventMap['completed'][0];
        if (about.name !== name || about.key !== key) return;
        over();
        resolve(data);
      };
      const timer = setTimeout(() => {
        over();
        reject(new Error(`no ${kind} of ${name} ${key} within ${ENDS_WITHIN_MS} ms`));
      }, ENDS_WITHIN_MS);
      this.events.on(kind, listener);
    });
  }

  /** A delay that waits for an hour. */
  schedule(name: string, key: string, payload: object): Promise<unknown> {
    return this.delays.schedule(named(name), payload as never, { after: '1h', key });
  }

  /** One delay for each key, due now. */
  async scheduleNow(
    name: string,
    keys: string[],
    payloadOf: (key: string) => object,
  ): Promise<void> {
    const items = keys.map((key) => ({ name, payload: payloadOf(key), key, after: 0 }));
    await this.delays.scheduleMany(items as ScheduleItem[]);
  }

  /** Resolves when history has an end of each of these keys. */
  async ended(name: string, keys: string[]): Promise<void> {
    await until(
      () => Promise.all(keys.map((key) => this.ends(name, key))),
      (ends) => ends.every((each) => each.length > 0),
    );
  }

  /** Makes a delay due that waits, and resolves when it has ended. */
  async fire(name: string, key: string, end: End = 'completed'): Promise<void> {
    const ended = this.next(end, name, key);
    await this.makeDue(name, key);
    await ended;
  }

  async makeDue(name: string, key: string): Promise<void> {
    const { verdict } = await this.delays.reschedule(named(name), key, { after: 0 });
    if (verdict !== 'rescheduled') throw new Error(`${name} of ${key} is ${verdict}`);
  }
}
