import { useComputed, useSignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import { now } from '../../../ui/server-clock.js';
import { left } from '../../../ui/written.js';
import { words } from '../words/language.js';
import { RemainingBar } from './remaining-bar.js';

interface CountdownProps {
  from: string;
  until: string;
  say: (time: string) => string;
  over: string;
}

/**
 * Counts by the server's clock. Only its text changes: no rendering, no announcement every second.
 */
export function Countdown(props: CountdownProps) {
  const { until, say, over, from } = props;
  const wait = useSignal(props);
  useLayoutEffect(() => {
    wait.value = { from, until, say, over };
  }, [from, until, say, over]);
  const text = useComputed(() => {
    const leftMs = Date.parse(wait.value.until) - now.value;
    return leftMs > 0 ? wait.value.say(left(words.value, leftMs)) : wait.value.over;
  });
  return (
    <span class="countdown" role="timer">
      <span class="figure">{text}</span>
      <RemainingBar from={from} until={until} />
    </span>
  );
}
