import { afterEach, expect, it } from '@jest/globals';
import { Inject, Injectable, Module, type Provider, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { OnDeadDelay, OnDelay } from 'nestjs-delay-queue';
import type { DelayRequest } from '../../../src/delay-queue/handlers/invocation/delay-request.js';
import { calls, CTX, DELAY, explored } from './explored.js';

afterEach(() => {
  calls.length = 0;
});

@Module({})
class One {}
@Module({})
class Other {}

/** A module's own idea of what it handles delays with. */
abstract class Handler {}

@Injectable({ scope: Scope.REQUEST })
class Mails extends Handler {
  constructor(
    @Inject(REQUEST) private readonly request: DelayRequest,
    @Inject('place') private readonly place: string,
  ) {
    super();
  }

  @OnDelay('test.mail')
  on(): void {
    calls.push(['mail', this.place, this.request.delay.id]);
  }

  @OnDeadDelay('test.mail')
  dead(): void {
    calls.push(['dead mail', this.place]);
  }
}

@Injectable({ scope: Scope.TRANSIENT })
class Texts extends Handler {
  constructor(@Inject('place') private readonly place: string) {
    super();
  }

  @OnDelay('test.text')
  on(): void {
    calls.push(['text', this.place]);
  }
}

it.each([
  ['a class', Handler],
  ['a text', 'HANDLER'],
])(
  'handlers of two modules under one token, %s, are each those of their module',
  async (_, provide) => {
    const providers = (useClass: typeof Mails | typeof Texts, place: string): Provider[] => [
      {
        provide,
        useClass,
        scope: useClass === Mails ? Scope.REQUEST : Scope.TRANSIENT,
      } as Provider,
      { provide: 'place', useValue: place },
    ];
    const registry = await explored([], {
      imports: [
        { module: One, providers: providers(Mails, 'one') },
        { module: Other, providers: providers(Texts, 'other') },
      ],
    });
    await registry.get('test.mail')?.invoke(DELAY, CTX);
    await registry.get('test.text')?.invoke(DELAY, CTX);
    await registry
      .get('test.mail')
      ?.onDead?.invoke(DELAY, { ...CTX, error: '', cause: undefined } as never);
    expect(calls).toEqual([
      ['mail', 'one', '7'],
      ['text', 'other'],
      ['dead mail', 'one'],
    ]);
  },
);

it('a class that two modules provide is two handlers, and refused', async () => {
  const imports = [One, Other].map((module) => ({
    module,
    providers: [Texts, { provide: 'place', useValue: module.name }],
  }));
  await expect(explored([], { imports })).rejects.toThrow(
    /two handlers for the delay test\.text: Texts\.on \(One\) and Texts\.on \(Other\)/,
  );
});
