import { afterEach, expect, it, jest } from '@jest/globals';
import { Client } from 'pg';
import { Intake } from '../../../src/delay-queue/intake/intake.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { createTestDatabase } from '../../support/database.js';
import { plainHandler, signal, startNode } from '../../support/delay-node.js';

afterEach(() => {
  jest.restoreAllMocks();
});

it('a hint that is heard while the node still starts does it no harm', async () => {
  const database = await createTestDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  // oxlint-disable-next-line typescript/unbound-method -- called with its `this` below
  const load = NodeStore.prototype.load;
  const heard = signal();
  // It is asked when a hint has come.
  jest.spyOn(Intake.prototype, 'isOpen', 'get').mockImplementation(() => {
    heard.resolve();
    return false;
  });
  let isHinted = false;
  jest.spyOn(NodeStore.prototype, 'load').mockImplementation(async function hinted(
    this: NodeStore,
    ...given
  ) {
    if (!isHinted) {
      isHinted = true;
      // Heard before the first load is answered, which also reads the clock for the first time.
      const wake = [1, 0, 'test.early', Date.now()];
      await client.query('SELECT pg_notify($1, $2)', ['delay_queue', `w[${JSON.stringify(wake)}]`]);
      await heard.promise;
    }
    return load.apply(this, given);
  });
  const node = await startNode({
    url: database.url,
    providers: [plainHandler('test.early', () => {})],
  });
  try {
    const completed = node.next('completed');
    await node.delays.schedule('test.early', null, { after: 0 });
    expect((await completed).name).toBe('test.early');
  } finally {
    await node.stop();
    await client.end();
    await database.drop();
  }
});
