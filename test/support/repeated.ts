import type { Type } from '@nestjs/common';
import { RepeatDelay, type RepeatDelayOptions } from 'nestjs-delay-queue';

type TestName = `test.${string}`;
export type Repeats = Omit<RepeatDelayOptions<TestName>, 'payload'> & { payload?: unknown };

/** A provider of `delay-node.ts` whose delay recurs. */
export function repeated(handler: Type, name: TestName, ...all: Repeats[]): Type {
  const { prototype } = handler as { prototype: object };
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'handle') as PropertyDescriptor;
  for (const repeat of all) {
    const options = { payload: null, ...repeat } as RepeatDelayOptions<TestName>;
    RepeatDelay(name, options)(prototype, 'handle', descriptor);
  }
  return handler;
}
