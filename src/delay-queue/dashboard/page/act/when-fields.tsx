import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useId } from 'preact/hooks';
import { isoFromLocal, localFromMs } from '../parts/local-time.js';
import { nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';

export type Way = 'now' | 'after' | 'extendBy' | 'at';

/** Holds the one that was entered; none: now. */
export type EnteredWhen = Partial<Record<Exclude<Way, 'now'>, string>>;

const HOUR_MS = 3_600_000;

interface WhenFieldsProps {
  legend: string;
  /** The first one is chosen. */
  ways: readonly Way[];
  /** `null` while the input is not valid. */
  when: Signal<EnteredWhen | null>;
}

export function WhenFields({ legend, ways, when }: WhenFieldsProps) {
  const way = useSignal(ways[0]!);
  const duration = useSignal('1h');
  const instant = useSignal(localFromMs(nowSeconds.value + HOUR_MS));
  const id = useId();
  const names = wayNames();
  useEffect(() => {
    when.value = enteredWhen(way.value, duration.value.trim(), instant.value);
  }, [way.value, duration.value, instant.value]);
  return (
    <fieldset class="when-fields">
      <legend>{legend}</legend>
      <div class="choices">
        {ways.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name={id}
              checked={way.value === each}
              onChange={() => {
                way.value = each;
              }}
            />
            {names[each]}
          </label>
        ))}
      </div>
      {way.value !== 'now' && (
        <Input key={way.value} way={way.value} its={way.value === 'at' ? instant : duration} />
      )}
    </fieldset>
  );
}

function Input({ way, its }: { way: Way; its: Signal<string> }) {
  const id = useId();
  const said = words.value.acting;
  const isInstant = way === 'at';
  const common = {
    'aria-label': wayNames()[way],
    'aria-describedby': `${id}-hint`,
    value: its.value,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => {
      its.value = currentTarget.value;
    },
  };
  return (
    <div class="field">
      {isInstant ? (
        <input {...common} type="datetime-local" step={1} />
      ) : (
        <input {...common} maxLength={100} autocomplete="off" spellcheck={false} />
      )}
      <p class="hint" id={`${id}-hint`}>
        {isInstant
          ? its.value !== '' && isoFromLocal(its.value) === null
            ? said.noSuchTime
            : said.localTime
          : said.durationHint}
      </p>
    </div>
  );
}

function wayNames(): Record<Way, string> {
  const { now, toAfter, toExtendBy, toAt } = words.value.acting;
  return { now, after: toAfter, extendBy: toExtendBy, at: toAt };
}

function enteredWhen(way: Way, duration: string, instant: string): EnteredWhen | null {
  if (way === 'now') return {};
  const value = way === 'at' ? isoFromLocal(instant) : duration;
  return value ? { [way]: value } : null;
}
