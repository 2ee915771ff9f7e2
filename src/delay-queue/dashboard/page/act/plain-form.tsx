import type { Signal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { words } from '../words/language.js';
import type { PlainField } from './plain-fields.js';

interface PlainFormProps {
  fields: readonly PlainField[];
  values: Signal<Record<string, string>>;
}

/** An input for each field of a payload. */
export function PlainForm({ fields, values }: PlainFormProps) {
  return (
    <>
      {fields.map((field) => (
        <Input
          key={field.name}
          field={field}
          value={values.value[field.name] ?? ''}
          take={(text) => {
            values.value = { ...values.value, [field.name]: text };
          }}
        />
      ))}
    </>
  );
}

interface InputProps {
  field: PlainField;
  value: string;
  take: (text: string) => void;
}

function Input({ field, value, take }: InputProps) {
  const { name, kind, isRequired, description } = field;
  const id = useId();
  const said = words.value.acting;
  const isText = kind !== 'flag' && kind !== 'choice';
  const common = {
    id,
    required: isRequired,
    'aria-describedby': description ? `${id}-hint` : undefined,
  };
  return (
    <div class="field">
      <label for={id}>
        <bdi>{name}</bdi> {!isRequired && `(${said.optional})`}
      </label>
      {isText ? (
        <input
          {...common}
          value={value}
          inputMode={kind === 'text' ? 'text' : 'decimal'}
          autocomplete="off"
          spellcheck={false}
          onInput={({ currentTarget }) => take(currentTarget.value)}
        />
      ) : (
        <select
          {...common}
          value={value}
          onChange={({ currentTarget }) => take(currentTarget.value)}
        >
          <option value="">{isRequired ? '' : said.leftOut}</option>
          {choicesOf(field).map(([its, text]) => (
            <option key={its} value={its}>
              {text}
            </option>
          ))}
        </select>
      )}
      {description && (
        <p class="hint" id={`${id}-hint`}>
          {description}
        </p>
      )}
    </div>
  );
}

function choicesOf({ kind, choices }: PlainField): [value: string, text: string][] {
  const { yes, no } = words.value.acting;
  if (kind === 'choice') return choices.map((choice) => [choice, choice]);
  return [
    ['true', yes],
    ['false', no],
  ];
}
