import { afterAll, afterEach, beforeAll } from '@jest/globals';
import type { DelayService } from 'nestjs-delay-queue';
import type { QueryResultRow } from 'pg';
import type { DataSource } from 'typeorm';
import { Stage } from '../integration/engine/support/stage.js';
import type { DelayNode, NodeSetup } from './delay-node.js';
import { type OpenTransaction, OpenTransactions } from './open-transactions.js';

/** What the tests of a file share; nothing of it is there before the first `beforeAll` has run. */
export interface OneNode {
  readonly delays: DelayService;
  readonly dataSource: DataSource;
  readonly next: DelayNode['next'];
  /** Not through the node's pool. */
  sql: <Row extends QueryResultRow>(text: string, parameters?: unknown[]) => Promise<Row[]>;
  /** Is rolled back after the test when it is still open then. */
  begin: (isolation?: 'SERIALIZABLE') => Promise<OpenTransaction>;
}

/** One node on a database of its own for all tests of a file. After each test no row is left of it. */
export function oneNode(setup: Omit<NodeSetup, 'url'> = {}): OneNode {
  const transactions = new OpenTransactions();
  let stage: Stage;
  let node: DelayNode;

  beforeAll(async () => {
    stage = await Stage.open();
    node = await stage.start(setup);
  });

  afterEach(async () => {
    await transactions.rollbackAll();
    await stage.sql('TRUNCATE delay_queue.delay, delay_queue.history');
  });

  afterAll(() => stage.close());

  return {
    get delays() {
      return node.delays;
    },
    get dataSource() {
      return node.dataSource;
    },
    get next() {
      return node.next;
    },
    sql: (text, parameters) => stage.sql(text, parameters),
    begin: (isolation) => transactions.begin(node.dataSource, isolation),
  };
}
