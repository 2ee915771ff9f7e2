import { computed } from '@preact/signals';
import { now } from '../../../../ui/server-clock.js';
import type { Instant } from '../../contract.js';
import { words } from '../words/language.js';
import { instant, relative } from '../words/written.js';

/** By the server's clock, once a second. */
export const nowSeconds = computed(() => Math.floor(now.value / 1_000) * 1_000);

/** How far away an instant is, plus the instant itself where there is room. */
export function When({ at, isShort = false }: { at: Instant; isShort?: boolean }) {
  const said = words.value;
  const nowMs = nowSeconds.value;
  return (
    <time class="when" dateTime={at} title={at}>
      <span>{relative(said, Date.parse(at) - nowMs)}</span>
      {!isShort && <span class="exact">{instant(said, at, nowMs)}</span>}
    </time>
  );
}

/** `14:02:11`, with its day unless that is today. */
export function At({ at }: { at: Instant }) {
  return (
    <time class="figure" dateTime={at} title={at}>
      {instant(words.value, at, nowSeconds.value)}
    </time>
  );
}
