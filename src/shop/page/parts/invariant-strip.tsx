import { known } from '../feed/known.js';
import { words } from '../words/language.js';
import { clock } from '../words/written.js';
import { Icon } from './icon.js';

/** What must always hold: green, and loud when it does not. */
export function InvariantStrip() {
  const strip = known.invariants.value;
  if (!strip) return null;
  const { invariantsHold, invariantsBroken, invariantsChecked } = words.value;
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
        <span class="note invariants-at">{invariantsChecked(clock(strip.checkedAt))}</span>
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

/** `12 looked at` is said in the visitor's language; what is broken as the shop says it. */
function detailOf(detail: string): string {
  const [, lookedAt] = /^([\d,]+) looked at$/.exec(detail) ?? [];
  return lookedAt === undefined ? detail : words.value.lookedAt(lookedAt);
}
