import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';
import { FUNCTIONS, type WalkMessage } from './users-functions/walk.protocol.js';

const FILE = 'test/hostile/users-functions/walked-application.ts';

let database: TestDatabase;
let application: NodeProcess<WalkMessage>;

beforeAll(async () => {
  database = await createTestDatabase();
  const env = { WALKED_DATABASE: database.url };
  application = NodeProcess.start<WalkMessage>(FILE, { env });
  await application.waitFor(({ ready }) => ready === true);
});

afterAll(async () => {
  await application.kill('SIGKILL');
  await database.drop({ force: true });
});

it.each(FUNCTIONS)(
  'whatever %s does, its own call hears of it, the neighbours run, and the process stays',
  async (walked) => {
    expect(application.running).toBe(true);
    application.send({ walk: walked });
    try {
      const { differs } = await application.waitFor((message) => message.walked === walked);
      expect(differs).toEqual({});
    } catch (error) {
      // What stands still answers nobody else, either.
      await application.kill('SIGKILL');
      throw error;
    }
  },
  40_000,
);

it('and the application ends well', async () => {
  application.send({ stop: true });
  expect(await application.exited).toEqual({ code: 0, signal: null });
});
