import { describe, expect, it } from '@jest/globals';
import { Injectable, Scope } from '@nestjs/common';
import { DelayEvents, OnDelayEvent } from 'nestjs-delay-queue';
import { calls, explored, refusalOf } from './explored.js';

const STOPPED = { node: 'web', unfinished: 3 };
const RECOVERED = { task: 'claim' };

describe('a method with @OnDelayEvent', () => {
  it('hears of its events, with its own instance', async () => {
    @Injectable()
    class Pager {
      readonly name = 'pager';

      @OnDelayEvent('stopped')
      page(event: typeof STOPPED): void {
        calls.push([this.name, event]);
      }
    }
    const events = new DelayEvents();
    // One instance under two tokens hears once.
    await explored([Pager, { provide: 'other', useExisting: Pager }], { events });
    events.emit('stopped', STOPPED);
    events.emit('taskRecovered', RECOVERED);
    expect(calls).toEqual([['pager', STOPPED]]);
  });

  it.each(['throws', 'rejects'])(
    'that %s is told of once for each event, and disturbs nobody',
    async (how) => {
      class Broken {
        @OnDelayEvent('stopped')
        @OnDelayEvent('taskRecovered')
        hear(): Promise<void> | void {
          const error = new Error('no network');
          if (how === 'rejects') return Promise.reject(error);
          throw error;
        }
      }
      const events = new DelayEvents();
      events.on('advice', ({ message }) => calls.push(message));
      await explored([Broken], { events });
      for (let times = 0; times < 2; times += 1) {
        events.emit('stopped', STOPPED);
        events.emit('taskRecovered', RECOVERED);
      }
      await new Promise(setImmediate);
      expect(calls).toEqual(
        Array(2).fill('Broken.hear: its @OnDelayEvent fails: Error: no network'),
      );
    },
  );

  it('hears once of what the method that it overrides hears of, too', async () => {
    class Base {
      @OnDelayEvent('stopped')
      page(): void {}
    }
    class Sub extends Base {
      @OnDelayEvent('stopped')
      override page(): void {
        calls.push('sub');
      }
    }
    const events = new DelayEvents();
    await explored([Sub], { events });
    events.emit('stopped', STOPPED);
    expect(calls).toEqual(['sub']);
  });

  it('needs a provider with one instance', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @OnDelayEvent('dead')
      page(): void {}
    }
    expect(await refusalOf([Scoped])).toContain(
      'DELAY_CONFIG Scoped.page: @OnDelayEvent needs a provider with one instance',
    );
  });
});

it('a listener that throws or rejects disturbs neither the process nor those behind it', async () => {
  const events = new DelayEvents();
  events.once('stopped', () => {
    throw new Error('a broken listener');
  });
  events.on('stopped', () => Promise.reject(new Error('no network')));
  events.on('stopped', (event) => calls.push(event));
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', onUnhandled);
  for (let times = 0; times < 2; times += 1) expect(events.emit('stopped', STOPPED)).toBe(true);
  await new Promise(setImmediate);
  process.off('unhandledRejection', onUnhandled);
  expect([calls, unhandled]).toEqual([[STOPPED, STOPPED], []]);
  expect(events.listenerCount('stopped')).toBe(2);
});
