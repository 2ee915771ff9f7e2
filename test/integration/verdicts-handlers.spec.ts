import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import {
  type DelayNode,
  fencedHandler,
  plainHandler,
  signal,
  startNode,
} from '../support/delay-node.js';
import { OpenTransactions } from '../support/open-transactions.js';
import { act, VERBS } from '../support/verbs.js';

let database: TestDatabase;
let node: DelayNode;
const transactions = new OpenTransactions();

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await transactions.rollbackAll();
  await node?.stop();
  await database.drop();
});

/** A handler that has started, and ends when the test says so. */
function heldHandler() {
  const started = signal();
  const goOn = signal();
  const run = async (): Promise<void> => {
    started.resolve();
    await goOn.promise;
  };
  return { started: started.promise, goOn: goOn.resolve, run };
}

async function expectRunning(): Promise<void> {
  for (const verb of VERBS) {
    expect(await act(node.delays, verb, 'k')).toMatchObject({ verdict: 'running' });
    const answer = await node.dataSource.transaction((manager) =>
      act(node.delays, verb, 'k', manager),
    );
    expect(answer).toMatchObject({ verdict: 'running' });
  }
}

const schedule = () => node.delays.schedule('test.a', { n: 1 }, { after: 0, key: 'k' });

it.each([
  ['plain', plainHandler],
  ['transactional', fencedHandler],
] as const)('a running %s handler is `running` at once, and then done', async (_kind, handler) => {
  const held = heldHandler();
  node = await startNode({ url: database.url, providers: [handler('test.a', held.run)] });
  const completed = node.next('completed');
  const { id } = await schedule();
  await held.started;
  await expectRunning();
  expect(await node.delays.find('test.a', 'k')).toMatchObject({ id, state: 'running' });
  held.goOn();
  await completed;
  expect(await act(node.delays, 'cancel', 'k')).toEqual({ verdict: 'absent' });
  expect(await node.delays.history('test.a', 'k')).toMatchObject([{ id, state: 'completed' }]);
});

it('a transactional handler that moved its own row on keeps nobody waiting', async () => {
  const held = heldHandler();
  const handler = fencedHandler('test.a', async (_delay, { manager }) => {
    await node.delays.schedule('test.a', { n: 7 }, { after: '1h', key: 'k', manager });
    await held.run();
  });
  node = await startNode({ url: database.url, providers: [handler] });
  const superseded = node.next('superseded');
  await schedule();
  await held.started;
  await expectRunning();
  held.goOn();
  await superseded;
  expect(await node.delays.find('test.a', 'k')).toMatchObject({ payload: { n: 7 }, attempts: 0 });
});

const pay = `UPDATE purchase SET status = 'paid' WHERE status = 'open'`;
const status = async (): Promise<string> =>
  (await node.dataSource.query('SELECT status FROM purchase'))[0].status;

describe('a payment and the close of its order', () => {
  const closes: string[] = [];

  async function startShop(held: ReturnType<typeof heldHandler>): Promise<void> {
    closes.length = 0;
    const close = fencedHandler('test.a', async (_delay, { manager }) => {
      await held.run();
      const [rows] = await manager.query(
        `UPDATE purchase SET status = 'closed' WHERE status = 'open' RETURNING status`,
      );
      closes.push(rows.length === 1 ? 'closed' : 'left alone');
    });
    node = await startNode({ url: database.url, providers: [close] });
    await node.dataSource.query(`CREATE TABLE purchase (status text);
                                 INSERT INTO purchase VALUES ('open')`);
  }

  it('order first, delay second: the cancel does not wait for the handler that waits for it', async () => {
    const held = heldHandler();
    await startShop(held);
    const completed = node.next('completed');
    await schedule();
    await held.started;
    const payer = await transactions.begin(node.dataSource);
    await payer.manager.query(pay);
    held.goOn();
    await payer.blocksSomebody();
    expect(await act(node.delays, 'cancel', 'k', payer.manager)).toMatchObject({
      verdict: 'running',
    });
    await payer.commit();
    await completed;
    expect(closes).toEqual(['left alone']);
    expect(await status()).toBe('paid');
  });

  it('delay first, order second: the handler never starts', async () => {
    const held = heldHandler();
    await startShop(held);
    const started: string[] = [];
    node.events.on('started', ({ key }) => started.push(String(key)));
    const { id } = await node.delays.schedule('test.a', { n: 1 }, { after: 400, key: 'k' });
    const payer = await transactions.begin(node.dataSource);
    expect(await act(node.delays, 'cancel', 'k', payer.manager)).toMatchObject({
      verdict: 'cancelled',
    });
    await payer.manager.query(pay);
    // Another delay, due later, has come and gone: this one's time is over as well.
    held.goOn();
    const completed = node.next('completed', ({ key }) => key === 'later');
    await node.delays.schedule('test.a', { n: 2 }, { after: 600, key: 'later' });
    await payer.commit();
    await completed;
    expect(started).toEqual(['later']);
    expect(await node.delays.history('test.a', 'k')).toMatchObject([{ id, state: 'cancelled' }]);
    expect(await status()).toBe('paid');
  });

  it('the handler holds the order: the payer waits for the row, never for the delay', async () => {
    const held = heldHandler();
    const closed = signal();
    const close = fencedHandler('test.a', async (_delay, { manager }) => {
      await manager.query(`UPDATE purchase SET status = 'closed' WHERE status = 'open'`);
      closed.resolve();
      await held.run();
    });
    node = await startNode({ url: database.url, providers: [close] });
    await node.dataSource.query(`CREATE TABLE purchase (status text);
                                 INSERT INTO purchase VALUES ('open')`);
    const completed = node.next('completed');
    await schedule();
    await closed.promise;
    const payer = await transactions.begin(node.dataSource);
    expect(await act(node.delays, 'cancel', 'k', payer.manager)).toMatchObject({
      verdict: 'running',
    });
    const paid = payer.manager.query(pay);
    held.goOn();
    await completed;
    expect((await paid)[1]).toBe(0);
    await payer.commit();
    expect(await status()).toBe('closed');
  });
});
