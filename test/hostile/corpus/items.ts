import type { ScheduleItem } from 'nestjs-delay-queue';
/** What `scheduleMany` must refuse as a whole. Made anew for each use: some are large. */
export interface HostileItems {
  what: string;
  make: () => unknown;
  /** The error's `field`, or how it begins. */
  field: RegExp;
}

const boom = (): never => {
  throw new Error('boom');
};

const item = (given: object = {}): ScheduleItem => ({
  name: 'test.h',
  payload: 1,
  after: '1h',
  ...given,
});

const many = (length: number): ScheduleItem[] => Array.from({ length }, () => item());

function withHole(length: number, hole: number): ScheduleItem[] {
  const items: ScheduleItem[] = [];
  for (let index = 0; index < length; index += 1) if (index !== hole) items[index] = item();
  return items;
}

/** An array of another class that leaves its elements out when it is mapped. */
class Forgetful extends Array<ScheduleItem> {
  override map = boom;
}

const refused = (field: RegExp, what: string, make: () => unknown): HostileItems => ({
  what,
  make,
  field,
});

export const ITEMS: readonly HostileItems[] = [
  refused(/^items$/, 'nothing', () => undefined),
  refused(/^items$/, 'an object with a length', () => ({ length: 1, 0: item() })),
  refused(/^items$/, 'a generator that throws in the middle', function* made() {
    yield item();
    boom();
  }),
  refused(/^items$/, '10,001 items', () => many(10_001)),
  refused(/^items$/, 'four billion items', () => Object.assign([], { length: 4e9 })),
  refused(
    /^items/,
    'a proxy that throws for its elements',
    () =>
      new Proxy(many(2), { get: (list, key) => (key === '1' ? boom() : Reflect.get(list, key)) }),
  ),
  refused(/^items/, 'a revoked proxy', () => {
    const { proxy, revoke } = Proxy.revocable(many(2), {});
    revoke();
    return proxy;
  }),
  refused(/^items/, 'an array whose map throws', () => Forgetful.of(item(), item())),
  refused(/^items\[1\]/, 'a hole in the middle', () => withHole(3, 1)),
  refused(/^items\[1\]/, 'undefined for an item', () => [item(), undefined]),
  refused(/^items\[1\]/, 'null for an item', () => [item(), null]),
  refused(/^items\[1\]/, 'a list for an item', () => [item(), ['test.h', 1]]),
  refused(/^items\[1\]/, 'an item with a getter that throws', () => [
    item(),
    Object.defineProperty(item(), 'payload', { enumerable: true, get: boom }),
  ]),
  refused(/^items\[1\]\.options\.manager$/, 'a manager in an item', () => [
    item(),
    item({ manager: {} }),
  ]),
  refused(/^items\[2\]\.key$/, 'a key that stands twice', () => [
    item({ key: 'k' }),
    item({ key: 'other' }),
    item({ key: 'k' }),
  ]),
  refused(/^items\[9999\]\.key$/, 'a bad key in the last of 10,000', () => [
    ...many(9_999),
    item({ key: '' }),
  ]),
  refused(/^items\[\d+\]\.payload$/, 'payloads of more than 32 MiB together', () => {
    const payload = 'x'.repeat(65_000);
    return Array.from({ length: 600 }, () => item({ payload }));
  }),
];
