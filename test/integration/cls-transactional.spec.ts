import { expect, it } from '@jest/globals';
import { createTestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';

interface Told {
  keys: string[];
  failures: string[];
}

it('@nestjs-cls/transactional: delays live and die with @Transactional methods, those of handlers too', async () => {
  const database = await createTestDatabase();
  const file = 'test/integration/fixtures/cls-application.ts';
  const application = NodeProcess.start<Told>(file, { env: { CLS_URL: database.url } });
  const { keys, failures } = await application.waitFor((message) => 'keys' in message);
  await application.exited;
  await database.drop();
  expect(failures).toEqual(['rolled back', 'rolled back']);
  const kept = ['alone', 'alone in a context', 'own', 'placed', 'works of test.handled'];
  expect(keys.toSorted()).toEqual(kept);
});
