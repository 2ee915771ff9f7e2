import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';

interface Told {
  keys: string[];
  failures: string[];
}

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(() => database.drop());

describe('@nestjs-cls/transactional', () => {
  it('delays live and die with @Transactional methods, those of handlers too', async () => {
    const file = 'test/integration/fixtures/cls-application.ts';
    const env = { CLS_URL: database.url };
    const application = NodeProcess.start<Told>(file, { env });
    const { keys, failures } = await application.waitFor((message) => 'keys' in message);
    await application.exited;
    expect(failures).toEqual(['rolled back', 'rolled back']);
    expect(keys.toSorted()).toEqual(
      ['alone', 'alone in a context', 'own', 'placed', 'works of test.handled'].toSorted(),
    );
  });
});
