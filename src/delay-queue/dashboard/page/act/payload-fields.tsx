import { type Signal, useComputed, useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { words } from '../words/language.js';
import { placeOfError } from './json-place.js';
import { Labelled } from './labelled.js';
import { plainJson, type PlainField, readPlainFields } from './plain-fields.js';

type Payload = ReturnType<typeof usePayload>;

/** A form where the schema is an object of plain fields, else JSON. */
export function usePayload(schema: unknown) {
  /** `null`: there is no form for it. */
  const fields = readPlainFields(schema);
  const isForm = useSignal(true);
  const values = useSignal<Record<string, string>>({});
  const text = useSignal('{}');
  const isJson = useComputed(() => placeOfError(text.value) === null);
  const isShownAsForm = fields !== null && isForm.value;
  return {
    fields,
    isForm,
    values,
    text,
    json: isShownAsForm ? plainJson(fields, values.value) : text.value,
    isReady: isShownAsForm || isJson.value,
  };
}

export function PayloadFields({ payload }: { payload: Payload }) {
  const { fields, isForm, values, text, json } = payload;
  const said = words.value;
  if (fields === null) return <JsonField json={text} />;
  return (
    <fieldset class="payload-fields">
      <legend>
        {said.payload.title}{' '}
        <button
          type="button"
          class="link"
          onClick={() => {
            if (isForm.value) text.value = json;
            isForm.value = !isForm.value;
          }}
        >
          {isForm.value ? said.acting.asJson : said.acting.asForm}
        </button>
      </legend>
      {isForm.value ? (
        fields.map((field) => <PlainInput key={field.name} field={field} values={values} />)
      ) : (
        <JsonField json={text} />
      )}
    </fieldset>
  );
}

interface PlainInputProps {
  field: PlainField;
  values: Signal<Record<string, string>>;
}

function PlainInput({ field, values }: PlainInputProps) {
  const { name, kind, isRequired, description } = field;
  const said = words.value.acting;
  const common = {
    required: isRequired,
    value: values.value[name] ?? '',
  };
  const take = ({
    currentTarget,
  }: {
    currentTarget: HTMLInputElement | HTMLSelectElement;
  }): void => {
    values.value = { ...values.value, [name]: currentTarget.value };
  };
  const choices =
    kind === 'flag'
      ? { true: said.yes, false: said.no }
      : Object.fromEntries(field.choices.map((its) => [its, its]));
  return (
    <Labelled
      label={
        <>
          <bdi>{name}</bdi> {!isRequired && `(${said.optional})`}
        </>
      }
      hint={description}
    >
      {(ties) =>
        kind === 'flag' || kind === 'choice' ? (
          <select {...ties} {...common} onChange={take}>
            <option value="">{isRequired ? '' : said.leftOut}</option>
            {Object.entries(choices).map(([its, text]) => (
              <option key={its} value={its}>
                {text}
              </option>
            ))}
          </select>
        ) : (
          <input
            {...ties}
            {...common}
            inputMode={kind === 'text' ? 'text' : 'decimal'}
            autocomplete="off"
            spellcheck={false}
            onInput={take}
          />
        )
      }
    </Labelled>
  );
}

/** Shows where its text stops being JSON. */
function JsonField({ json }: { json: Signal<string> }) {
  const id = useId();
  const said = words.value;
  const place = placeOfError(json.value);
  return (
    <div class="field">
      <label for={id}>{said.payload.title}</label>
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
        {place && said.acting.notJson(place.line, place.column)}
      </p>
    </div>
  );
}
