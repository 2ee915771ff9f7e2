import { describe, expect, it } from '@jest/globals';
import { Injectable, Scope } from '@nestjs/common';
import { DelayEvents, type DelayEventMap } from '../../../src/delay-queue/delay/delay.events.js';
import { OnDelayEvent } from '../../../src/delay-queue/handlers/on-delay-event.decorator.js';
import { explored } from './explored.js';

type Dead = DelayEventMap['dead'][0];

const DEAD: Dead = {
  id: '1',
  name: 'test.a',
  key: 'k',
  attempt: 3,
  error: 'Error: no stock',
  cause: undefined,
  durationMs: 1,
};
const RECOVERED = { during: 'claim' };

describe('a method with @OnDelayEvent', () => {
  it('hears of its events, with its own instance', async () => {
    const heard: unknown[] = [];
    @Injectable()
    class Pager {
      readonly name = 'pager';

      @OnDelayEvent('dead')
      page({ error }: Dead): void {
        heard.push([this.name, error]);
      }
    }
    const events = new DelayEvents();
    // One instance under two tokens hears once.
    await explored([Pager, { provide: 'other', useExisting: Pager }], { events });
    events.emit('dead', DEAD);
    events.emit('recovered', RECOVERED);
    expect(heard).toEqual([['pager', 'Error: no stock']]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no network');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no network'))],
  ])('that %s is told of once for each event, and disturbs nobody', async (_how, broken) => {
    class Broken {
      @OnDelayEvent('dead')
      @OnDelayEvent('recovered')
      hear(): Promise<void> | void {
        return broken();
      }
    }
    const events = new DelayEvents();
    const advice: string[] = [];
    events.on('advice', ({ message }) => advice.push(message));
    await explored([Broken], { events });
    for (let times = 0; times < 3; times += 1) {
      events.emit('dead', DEAD);
      events.emit('recovered', RECOVERED);
    }
    await new Promise(setImmediate);
    const message = 'Broken.hear: its @OnDelayEvent fails: Error: no network';
    expect(advice).toEqual([message, message]);
  });

  it('needs a provider with one instance', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @OnDelayEvent('dead')
      page(): void {}
    }
    await expect(explored([Scoped])).rejects.toThrow(
      'Scoped.page: @OnDelayEvent needs a provider with one instance',
    );
  });
});
