import { signal } from '@preact/signals';
import type { Feed, FeedChange } from '../../feed/feed.js';
import { learn, learnAll } from './known.js';
import { serverClock, tick } from './server-clock.js';

/** A browser connects again by itself, unless it was answered with an error. */
const AGAIN_AFTER_MS = 1_000;

/** `trouble`: the shop answers, its database does not. */
export type Connection = 'connecting' | 'live' | 'lost' | 'trouble';

export const connection = signal<Connection>('connecting');

/** Keeps listening to the shop for as long as the page is open. */
export function watchFeed(): void {
  const source = new EventSource('/feed');
  const on = <T extends { serverNow: string }>(event: string, learnIt: (told: T) => void) =>
    source.addEventListener(event, ({ data }: MessageEvent<string>) => {
      const told = JSON.parse(data) as T;
      serverClock.read(told.serverNow);
      tick();
      learnIt(told);
      connection.value = 'live';
    });
  on<Feed>('snapshot', learnAll);
  on<FeedChange>('change', learn);
  source.addEventListener('trouble', () => {
    connection.value = 'trouble';
  });
  source.addEventListener('error', () => {
    connection.value = 'lost';
    if (source.readyState !== EventSource.CLOSED) return;
    source.close();
    setTimeout(watchFeed, AGAIN_AFTER_MS);
  });
}
