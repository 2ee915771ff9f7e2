import { describe, expect, it } from '@jest/globals';
import { Injectable, Scope } from '@nestjs/common';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import { OnDelayEvent } from '../../../src/delay-queue/handlers/on-delay-event.decorator.js';
import { calls, explored, refusalOf } from './explored.js';

const STOPPED = { node: 'web', unfinished: 3 };
const RECOVERED = { during: 'claim' };

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
    events.emit('recovered', RECOVERED);
    expect(calls).toEqual([['pager', STOPPED]]);
  });

  it.each(['throws', 'rejects'])(
    'that %s is told of once for each event, and disturbs nobody',
    async (how) => {
      class Broken {
        @OnDelayEvent('stopped')
        @OnDelayEvent('recovered')
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
        events.emit('recovered', RECOVERED);
      }
      await new Promise(setImmediate);
      expect(calls).toEqual(
        Array(2).fill('Broken.hear: its @OnDelayEvent fails: Error: no network'),
      );
    },
  );

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
