import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { DelayService } from 'nestjs-delay-queue';
import type { QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import { Stage } from '../integration/engine/support/stage.js';
import type { DelayNode, NodeSetup } from './delay-node.js';
import { type OpenTransaction, OpenTransactions } from './open-transactions.js';
import { Parts } from './parts.js';

/**
 * One node on a database of its own for all tests of a file, or of a `describe`: there from its first `beforeAll`
 * on. After each test no row is left of it, and no transaction is open.
 */
export class OneNode {
  #stage!: Stage;
  #node!: DelayNode;
  readonly parts: Parts;
  readonly #transactions = new OpenTransactions();

  constructor({ parts = new Parts(), ...setup }: Omit<NodeSetup, 'url'> = {}) {
    this.parts = parts;

    beforeAll(async () => {
      this.#stage = await Stage.open();
      this.#node = await this.#stage.start({ ...setup, parts });
    });

    afterEach(async () => {
      parts.letGo();
      await this.#transactions.rollbackAll();
      await this.truncate('delay', 'history', 'rerun');
    });

    afterAll(() => this.#stage.close());
  }

  get app(): DelayNode['app'] {
    return this.#node.app;
  }

  get delays(): DelayService {
    return this.#node.delays;
  }

  get admin(): DelayNode['admin'] {
    return this.#node.admin;
  }

  get dataSource(): DataSource {
    return this.#node.dataSource;
  }

  get events(): DelayNode['events'] {
    return this.#node.events;
  }

  readonly next: DelayNode['next'] = (event, matches) => this.#node.next(event, matches);

  /** Not through the node's pool. */
  sql<Row extends QueryResultRow>(text: string, parameters?: unknown[]): Promise<Row[]> {
    return this.#stage.sql<Row>(text, parameters);
  }

  readonly truncate: Stage['truncate'] = (...tables) => this.#stage.truncate(...tables);

  /** Looks until `accept` is content. */
  until<Row extends QueryResultRow>(text: string, accept: (rows: Row[]) => boolean) {
    return this.#stage.until<Row>(text, accept);
  }

  begin(isolation?: 'SERIALIZABLE'): Promise<OpenTransaction> {
    return this.#transactions.begin(this.dataSource, isolation);
  }

  /** Another node beside it. */
  start(setup: Omit<NodeSetup, 'url'>): Promise<DelayNode> {
    return this.#stage.start(setup);
  }
}
