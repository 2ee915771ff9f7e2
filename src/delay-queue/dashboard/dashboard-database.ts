import type { DataSource, EntityManager } from 'typeorm';
import {
  bring,
  DelayAdmin,
  postgresDriver,
  engineConfig,
  lookSettings,
  given,
  givenPoolOptions,
  qualifiedTables,
  PgDataSource,
  reader,
  readingClient,
  type ResolvedOptions,
  type SessionSettings,
  type TextAnswer,
  watchPool,
} from '../core/ops.js';
import { NOW, nowSql } from './store/search.sql.js';
import { Refusal } from './exchange.js';

/** Two viewers at a time; others wait. */
const CONNECTIONS = 2;

/** Most looks that run or wait at once. */
const AT_ONCE_MAX = 50;

/** A look that takes longer is refused: its filter must become narrower. */
const STATEMENT_TIMEOUT_MS = 5_000;

/**
 * Set per transaction, because a pooler refuses connection options. A look reads a limited number of
 * rows; the planner would otherwise read everything a common name or a range has, and sort it.
 */
export const SETTINGS = lookSettings(STATEMENT_TIMEOUT_MS);

const LOOK: SessionSettings = { ...SETTINGS, transaction_read_only: 'on' };

/** One look at the database, on a snapshot of its own. */
export interface Look {
  admin: DelayAdmin;
  /** For `admin`'s calls, so that they are part of this look. */
  manager: EntityManager;
  query<Row>(sql: string, parameters?: unknown[]): Promise<Row[]>;
  /** The clock of the database. */
  nowMs(): Promise<number>;
}

/**
 * The dashboard's own few connections, made from those of the application: its viewers wait for each
 * other, and neither for the application nor the other way round.
 */
export class DashboardDatabase {
  readonly #admin: DelayAdmin;
  readonly #dataSource: DataSource;
  readonly #nowSql: string;
  #opening: Promise<void> | undefined;
  #unwatch: (() => void) | undefined;
  #isClosed = false;
  #atOnce = 0;
  readonly #holders = new Set<Promise<unknown>>();

  constructor(
    application: DataSource,
    readonly options: ResolvedOptions,
  ) {
    this.#dataSource = PgDataSource.from({
      ...engineConfig(givenPoolOptions(application), `${options.nodeName} dashboard`),
      max: CONNECTIONS,
      query_timeout: STATEMENT_TIMEOUT_MS * 2,
    });
    this.#nowSql = nowSql(qualifiedTables(options.installation));
    this.#admin = new DelayAdmin(options, readingClient(this.#dataSource, options));
  }

  /** Reads in one transaction that can write nothing. Each statement has a time limit. */
  look<Result>(work: (look: Look) => Promise<Result>): Promise<Result> {
    return this.#limited('REPEATABLE READ', LOOK, async (manager) => {
      const query = <Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
        manager.query(sql, parameters);
      const nowMs = async (): Promise<number> => {
        const [answer] = await query<TextAnswer>(this.#nowSql);
        return reader(NOW)(given(answer)).nowMs;
      };
      return work({ admin: this.#admin, manager, query, nowMs });
    });
  }

  /** Writes one statement, with the same limit: what the dashboard keeps for itself. */
  write<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    return this.#limited('READ COMMITTED', SETTINGS, (manager) =>
      manager.query<Row[]>(sql, parameters),
    );
  }

  /** @throws Refusal when too many wait already */
  async #limited<Result>(
    isolation: 'READ COMMITTED' | 'REPEATABLE READ',
    settings: SessionSettings,
    work: (manager: EntityManager) => Promise<Result>,
  ): Promise<Result> {
    if (this.#atOnce >= AT_ONCE_MAX) {
      throw new Refusal('busy', 'Too many look at the dashboard at once. Try again in a moment.');
    }
    this.#atOnce += 1;
    try {
      await this.#open();
      return await this.#dataSource.transaction(isolation, async (manager) => {
        await bring(manager, settings, 'transaction ends');
        return work(manager);
      });
    } finally {
      this.#atOnce -= 1;
    }
  }

  /** It is closed after this work, which never rejects. */
  hold(work: Promise<unknown>): void {
    this.#holders.add(work);
    void work.then(() => this.#holders.delete(work));
  }

  async close(): Promise<void> {
    await Promise.all(this.#holders);
    this.#isClosed = true;
    await this.#opening?.catch(() => {});
    this.#unwatch?.();
    if (this.#dataSource.isInitialized) await this.#dataSource.destroy();
  }

  /** Opened by the first look, and reopened after a failure, so that an unreachable database does not fail the start. */
  #open(): Promise<void> {
    if (this.#isClosed) throw new Refusal('busy', 'The application is closing.');
    this.#opening ??= this.#dataSource.initialize().then(
      () => {
        const { master } = postgresDriver(this.#dataSource);
        this.#unwatch = master && watchPool(master);
      },
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }
}
