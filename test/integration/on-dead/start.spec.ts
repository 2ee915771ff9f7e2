import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Injectable, Scope, type Type } from '@nestjs/common';
import {
  type DeadDelayContext,
  type Delay,
  DelayConfigError,
  OnDeadDelay,
} from 'nestjs-delay-queue';
import { fencedHandler, plainHandler } from '../../support/delay-node.js';
import { refusedStart } from '../engine/support/refused-start.js';
import { Stage } from '../engine/support/stage.js';

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(() => stage.close());

const handler = (): Type => plainHandler('test.a', () => {});

class First {
  @OnDeadDelay('test.a')
  gaveUp(): void {}
}

class Second {
  @OnDeadDelay('test.a')
  gaveUp(): void {}
}

class Lone {
  @OnDeadDelay('test.lone')
  gaveUp(): void {}
}

class Nameless {
  @OnDeadDelay('no name' as 'test.a')
  gaveUp(): void {}
}

it.each<[what: string, providers: () => Type[], message: RegExp]>([
  ['two of one name', () => [First, handler(), Second], /First\.gaveUp and Second\.gaveUp/],
  ['one without a handler', () => [Lone], /Lone\.gaveUp: .*test\.lone, which has no @OnDelay/],
  ['one of what is no name', () => [Nameless], /Nameless\.gaveUp/],
])('%s stops the start', async (_, providers, message) => {
  const error = await refusedStart({ url: stage.url, providers: providers() });
  expect(error).toBeInstanceOf(DelayConfigError);
  expect((error as Error).message).toMatch(message);
});

it.each([
  [1, () => handler(), /@OnDeadDelay need a pool of at least 2/],
  [2, () => fencedHandler('test.a', () => {}), /@OnDeadDelay need a pool of at least 3/],
])('a pool of %d that has no connection for it stops the start', async (poolMax, of, message) => {
  const error = await refusedStart({ url: stage.url, providers: [First, of()], poolMax });
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
  const seen: unknown[] = [];
  @Injectable({ scope: Scope.REQUEST })
  class Scoped {
    readonly #called = seen.length;

    @OnDeadDelay('test.a')
    gaveUp(delay: Delay<'test.a'>, { error }: DeadDelayContext): void {
      seen.push([this.#called, delay.key, error]);
    }
  }
  const fails = plainHandler('test.a', () => Promise.reject(new Error('no')), { maxAttempts: 1 });
  const node = await stage.start({ providers: [fails, Scoped] });
  for (const key of ['x', 'y']) {
    const dead = node.next('dead');
    await node.delays.schedule('test.a', { n: 1 }, { after: 0, key });
    await dead;
  }
  expect(seen).toEqual([
    [0, 'x', 'Error: no'],
    [1, 'y', 'Error: no'],
  ]);
});
