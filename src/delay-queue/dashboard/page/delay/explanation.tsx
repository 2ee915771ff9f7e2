import { useComputed, useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { now } from '../../../../ui/server-clock.js';
import { left } from '../../../../ui/written.js';
import type { CauseLine, DelayView } from '../../contract.js';
import { words } from '../words/language.js';
import { wholeSpan } from '../words/written.js';

/** Red: it does not fire by itself any more. Amber: something holds it. */
const TONES: Record<string, 'stuck' | 'held' | undefined> = {
  dead: 'stuck',
  unreadable: 'stuck',
  orphaned: 'held',
  paused: 'held',
  unserved: 'held',
  throttled: 'held',
  nodeStalled: 'held',
  retrying: 'held',
};

/** In one sentence, what keeps it from firing or how it ended. */
export function Explanation({ its: { delay, explanation } }: { its: DelayView }) {
  const isWaiting = explanation.reason === 'notDue' || explanation.reason === 'retrying';
  const until = delay.wakeAt ?? delay.dueAt;
  return (
    <section
      class={`explanation ${TONES[explanation.reason] ?? ''}`}
      aria-label={words.value.delay.explanation}
    >
      <div>
        <Cause cause={explanation} />
        {explanation.also.length > 0 && (
          <ul class="also">
            {explanation.also.map((cause) => (
              <li key={cause.reason}>
                <Cause cause={cause} />
              </li>
            ))}
          </ul>
        )}
      </div>
      {isWaiting && <Countdown until={until} />}
    </section>
  );
}

/** The server writes English; the reason is in the viewer's language. */
function Cause({ cause: { reason, text } }: { cause: CauseLine }) {
  const said = words.value.reasons[reason];
  return (
    <p class="cause">
      {said && <b>{said}</b>}
      <span lang="en">
        <bdi>{text}</bdi>
      </span>
    </p>
  );
}

const DAY_MS = 86_400_000;

/** By the server's clock. Only its text changes; nothing is rendered or announced again. */
function Countdown({ until }: { until: string }) {
  const end = useSignal(until);
  useLayoutEffect(() => {
    end.value = until;
  }, [until]);
  const text = useComputed(() => {
    const leftMs = Date.parse(end.value) - now.value;
    if (leftMs <= 0) return words.value.now;
    return leftMs < DAY_MS ? left(words.value, leftMs) : wholeSpan(words.value, leftMs);
  });
  return (
    <p class="countdown figure" role="timer" aria-label={words.value.delay.countdown}>
      {text}
    </p>
  );
}
