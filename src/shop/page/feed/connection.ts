import { signal } from '@preact/signals';
import { serverClock, tick } from '../../../ui/server-clock.js';
import type { Feed, FeedChange } from '../../feed/feed.js';
import { learn, learnAll } from './known.js';

/** A browser reconnects on its own, except after an error status. */
const AGAIN_AFTER_MS = 1_000;

/** `trouble`: the shop answers, its database does not. */
export type Connection = 'connecting' | 'live' | 'lost' | 'trouble';

export const connection = signal<Connection>('connecting');

/** Listens to the shop for as long as the page is open. */
export function watchFeed(): void {
  const source = new EventSource('/feed');
  source.addEventListener('snapshot', ({ data }: MessageEvent<string>) => {
    const snapshot = JSON.parse(data) as Feed;
    isHeard(snapshot);
    learnAll(snapshot);
  });
  source.addEventListener('change', ({ data }: MessageEvent<string>) => {
    const change = JSON.parse(data) as FeedChange;
    isHeard(change);
    learn(change);
  });
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

function isHeard({ serverNow }: FeedChange): void {
  serverClock.read(serverNow);
  tick();
  connection.value = 'live';
}
