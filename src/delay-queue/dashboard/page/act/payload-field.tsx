import type { Signal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { words } from '../words/language.js';
import { placeOfError } from './json-place.js';

/** JSON, and the place where it is none. */
export function PayloadField({ json }: { json: Signal<string> }) {
  const id = useId();
  const said = words.value.acting;
  const place = placeOfError(json.value);
  return (
    <div class="field">
      <label for={id}>{said.payload}</label>
      <textarea
        id={id}
        class="mono"
        rows={6}
        aria-invalid={place !== null}
        aria-describedby={`${id}-error`}
        autocomplete="off"
        spellcheck={false}
        value={json.value}
        onInput={({ currentTarget }) => {
          json.value = currentTarget.value;
        }}
      />
      <p class="hint red" id={`${id}-error`} role="status">
        {place && said.notJson(place.line, place.column)}
      </p>
    </div>
  );
}
