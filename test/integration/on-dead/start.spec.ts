import { expect, it } from '@jest/globals';
import { Injectable, Scope, type Type } from '@nestjs/common';
import {
  type DeadDelayContext,
  type Delay,
  DelayConfigError,
  OnDeadDelay,
} from 'nestjs-delay-queue';
import { createTestDatabase } from '../../support/database.js';
import { fencedHandler, plainHandler } from '../../support/delay-node.js';
import { OneNode } from '../../support/one-node.js';
import { refusedStart } from '../engine/support/refused-start.js';

const seen: unknown[] = [];

@Injectable({ scope: Scope.REQUEST })
class Scoped {
  readonly #called = seen.length;

  @OnDeadDelay('test.b')
  gaveUp(delay: Delay<'test.b'>, { error }: DeadDelayContext): void {
    seen.push([this.#called, delay.key, error]);
  }
}

const fails = plainHandler('test.b', () => Promise.reject(new Error('no')), { maxAttempts: 1 });
const node = new OneNode({ providers: [fails, Scoped] });

const methodOf = (name: string): Type => {
  class GivesUp {
    @OnDeadDelay(name as 'test.a')
    gaveUp(): void {}
  }
  return GivesUp;
};

const PLAIN = plainHandler('test.a', () => {});
const FENCED = fencedHandler('test.a', () => {});
const FIRST = methodOf('test.a');

it.each<[what: string, providers: Type[], message: RegExp, poolMax: number]>([
  [
    'two of one name',
    [FIRST, PLAIN, methodOf('test.a')],
    /GivesUp\.gaveUp and GivesUp\.gaveUp/,
    20,
  ],
  [
    'one without a handler',
    [methodOf('test.lone')],
    /GivesUp\.gaveUp: .*test\.lone, which has no/,
    20,
  ],
  ['one of what is no name', [methodOf('no name')], /GivesUp\.gaveUp/, 20],
  [
    'one session for attempts',
    [FIRST, FENCED],
    /@OnDeadDelay need at least 2 transactionalConnections/,
    1,
  ],
])('%s stops the start', async (_, providers, message, poolMax) => {
  const database = await createTestDatabase();
  const error = await refusedStart({ url: database.url, providers, poolMax });
  await database.drop();
  expect(error).toBeInstanceOf(DelayConfigError);
  expect((error as Error).message).toMatch(message);
});

it('a static method is refused by the decorator', () => {
  expect(() => {
    class Wrong {
      @OnDeadDelay('test.a')
      static gaveUp(): void {}
    }
    return Wrong;
  }).toThrow(DelayConfigError);
});

it('a request-scoped provider gets an instance for each call', async () => {
  for (const key of ['x', 'y']) {
    const dead = node.next('dead');
    await node.delays.schedule('test.b', { text: '' }, { after: 0, key });
    await dead;
  }
  expect(seen).toEqual([
    [0, 'x', 'Error: no'],
    [1, 'y', 'Error: no'],
  ]);
});
