import { expect, it } from '@jest/globals';
import { joinTransaction, joinTransactionHost } from 'nestjs-delay-queue';
import { createTestDatabase } from '../support/database.js';
import { NodeProcess } from '../support/node-process.js';

interface Told {
  told: Record<string, string>;
  modes: Record<string, string>;
  effects: string[];
  delays: string[];
  refused: string[];
}

it.each(['cls', 'typeorm-transactional'] as const)(
  'with %s a service of a transactional handler is part of the attempt',
  async (library) => {
    const database = await createTestDatabase();
    const file = 'test/integration/fixtures/joined-application.ts';
    const env = { JOINED_URL: database.url, LIBRARY: library };
    const application = NodeProcess.start<Told>(file, { env });
    const { told, modes, effects, delays, refused } = await application.waitFor(
      (message) => 'told' in message,
    );
    await application.exited;
    await database.drop();
    const isCls = library === 'cls';
    expect(told).toEqual({
      modes: 'completed',
      succeeds: 'completed',
      fails: 'dead: Error: fails fails',
      forgets: expect.stringMatching(/^dead: DelayInvalidError: manager: .* await it/),
    });
    expect(refused).toEqual(['DELAY_TRANSACTION_OVER']);
    expect(modes).toEqual({
      required: 'joins',
      supports: 'joins',
      mandatory: 'joins',
      // A savepoint with nestjs-cls. To the other library `NESTED` is another word for `REQUIRES_NEW`.
      nested: isCls ? 'joins' : 'its own',
      requiresNew: 'its own',
      notSupported: 'its own',
      never: `refused: ${isCls ? 'TransactionAlreadyActiveError' : 'Error'}`,
    });
    const ofModes = Object.keys(modes).filter((mode) => mode !== 'never');
    expect(effects).toEqual([...ofModes.map((mode) => `modes ${mode}`), 'succeeds'].toSorted());
    expect(delays).toEqual(['modes required', 'succeeds']);
  },
);

it.each([
  () => joinTransactionHost({ tx: undefined }),
  () => joinTransactionHost(undefined as never),
  () => joinTransaction(undefined as never),
])('what is no such library is refused: %s', (join) => {
  expect(join).toThrow(expect.objectContaining({ code: 'DELAY_CONFIG' }));
});
