import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

/** An announcement is read to its end; what comes meanwhile is announced together. */
const EVERY_MS = 2_000;
const SAID_AT_ONCE_MAX = 3;

const spoken = signal('');
let waiting: string[] = [];

/** Has a screen reader say it. */
export function announce(text: string): void {
  waiting.push(text);
}

/** Stands in the page from its beginning, so that its text is read out. */
export function Announcer() {
  useEffect(() => {
    const saying = setInterval(() => {
      if (waiting.length === 0) return;
      spoken.value = waiting.slice(-SAID_AT_ONCE_MAX).join('. ');
      waiting = [];
    }, EVERY_MS);
    return () => clearInterval(saying);
  }, []);
  return (
    <p class="unseen" role="status">
      {spoken}
    </p>
  );
}
