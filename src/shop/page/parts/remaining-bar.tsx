import { useSignalEffect } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { now } from '../../../ui/server-clock.js';

/** The remaining time, as a bar that gets shorter. */
export function RemainingBar({ from, until }: { from: string; until: string }) {
  const bar = useRef<HTMLElement>(null);
  const span = useRef({ from, until });
  span.current = { from, until };
  useSignalEffect(() => {
    const [beginsAt, endsAt] = [Date.parse(span.current.from), Date.parse(span.current.until)];
    const of = endsAt > beginsAt ? (endsAt - now.value) / (endsAt - beginsAt) : 0;
    if (bar.current) bar.current.style.transform = `scaleX(${Math.min(1, Math.max(0, of))})`;
  });
  return (
    <span class="remaining" aria-hidden="true">
      <i ref={bar} />
    </span>
  );
}
