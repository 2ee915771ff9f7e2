import { useComputed } from '@preact/signals';
import { Icon } from '../../../ui/icon.js';
import { now } from '../../../ui/server-clock.js';
import { clock, duration } from '../../../ui/written.js';
import { known } from '../feed/known.js';
import { words } from '../words/language.js';

/** The age of an older check is shown. */
const FRESH_MS = 10_000;

/** What must always hold: green, and prominent when it does not. */
export function InvariantStrip() {
  const strip = known.invariants.value;
  const { invariantsHold, invariantsBroken, invariantsUnchecked } = words.value;
  if (!strip) return <p class="invariants unchecked note">{invariantsUnchecked}</p>;
  const broken = strip.checks.filter(({ ok }) => !ok).length;
  return (
    <details
      class={`invariants ${strip.ok ? 'hold' : 'broken'}`}
      open={strip.ok ? undefined : true}
    >
      <summary>
        <span class="invariants-ticks" aria-hidden="true">
          {strip.checks.map(({ name, ok }) => (
            <i key={name} class={ok ? 'hold' : 'broken'} />
          ))}
        </span>
        <b class="invariants-said">
          {strip.ok
            ? invariantsHold(strip.checks.length)
            : invariantsBroken(broken, strip.checks.length)}
        </b>
        <CheckedAt />
        <Icon name="down" />
      </summary>
      <ul class="checks">
        {strip.checks.map(({ name, ok, detail }) => (
          <li key={name} class={ok ? 'hold' : 'broken'}>
            <Icon name={ok ? 'check' : 'cross'} />
            <span>{words.value.checks[name] ?? name}</span>
            <span class="note">{detailOf(detail)}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Only its text changes, like a countdown's. */
function CheckedAt() {
  const text = useComputed(() => {
    const { invariantsChecked, invariantsCheckedAgo } = words.value;
    const at = known.invariants.value?.checkedAt ?? '';
    const ageMs = now.value - Date.parse(at);
    if (!(ageMs > FRESH_MS)) return invariantsChecked(clock(at));
    const age = duration(words.value, Math.floor(ageMs / 1_000) * 1_000);
    return invariantsCheckedAgo(clock(at), age);
  });
  return <span class="note invariants-at">{text}</span>;
}

/** `12 looked at` is translated; what is broken is shown as sent. */
function detailOf(detail: string): string {
  const [, lookedAt] = /^([\d,]+) looked at$/.exec(detail) ?? [];
  return lookedAt === undefined ? detail : words.value.lookedAt(lookedAt);
}
