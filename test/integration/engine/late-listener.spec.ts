import { beforeEach, expect, it } from '@jest/globals';
import { plainHandler, type Signal, signal } from '../../support/delay-node.js';
import { stageOfEach } from './support/stage-of-each.js';
import { EngineConnections, NodeStore, TimerQueue } from '../../support/engine-parts.js';

const stage = stageOfEach();

/** Statements are prepared: sessions have proven to stay with their connections. */
let prepared: Signal<void>;

beforeEach(() => {
  prepared = signal();
  stage.parts.intercept(EngineConnections, 'prepareStatements', ({ real }) => {
    real();
    prepared.resolve();
  });
});

const refuse = (): never => {
  throw new Error('too many clients already');
};

/** What cannot be found out at the start is found out later. */
async function findsOut(): Promise<unknown> {
  const node = await stage.start({ providers: [plainHandler('test.a', () => {})] });
  await prepared.promise;
  const completed = node.next('completed');
  await node.delays.schedule('test.a', { n: 1 }, { after: 0 });
  return completed;
}

it('a node whose listening connection failed at its start prepares its statements later', async () => {
  stage.parts.intercept(EngineConnections, 'open', async () => refuse(), 1);
  expect(await findsOut()).toMatchObject({ name: 'test.a' });
});

it('a node that could not say anything at its start prepares its statements later', async () => {
  let fails = 1;
  stage.parts.intercept(EngineConnections, 'query', async ({ real, given: [sql] }) => {
    if (sql.includes('pg_notify') && (fails -= 1) >= 0) refuse();
    return real();
  });
  expect(await findsOut()).toMatchObject({ name: 'test.a' });
});

it('a hint that is heard while the node still starts does it no harm', async () => {
  const heard = signal();
  // It is asked when a hint has come.
  stage.parts.replace(TimerQueue, 'isOpen', () => {
    heard.resolve();
    return false;
  });
  // Heard before the first load is answered, which also reads the clock for the first time.
  const hinted = async ({ real }: { real: () => ReturnType<NodeStore['load']> }) => {
    const wake = [1, 0, 'test.early', Date.now()];
    await stage.sql('SELECT pg_notify($1, $2)', ['delay_queue', `w[${JSON.stringify(wake)}]`]);
    await heard.promise;
    return real();
  };
  stage.parts.intercept(NodeStore, 'load', hinted, 1);
  const node = await stage.start({ providers: [plainHandler('test.early', () => {})] });
  const completed = node.next('completed');
  await node.delays.schedule('test.early', null, { after: 0 });
  expect((await completed).name).toBe('test.early');
});
