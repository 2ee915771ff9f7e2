import { type Signal, useComputed, useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import type { NameChoice, OperationOrder } from '../../contract.js';
import { parameter } from '../address/address.js';
import { useAnswer } from '../api/answer.js';
import { session } from '../api/session.js';
import { Answered } from '../parts/answered.js';
import { words } from '../words/language.js';
import { placeOfError } from './json-place.js';
import { Field, OrderForm, useOrderDeed } from './order-form.js';
import { PayloadField } from './payload-field.js';
import { jsonOf, type PlainField, plainFieldsOf } from './plain-fields.js';
import { PlainForm } from './plain-form.js';
import { type When, WhenFields } from './when-fields.js';

export function CreateForm() {
  const answer = useAnswer<NameChoice[]>('names');
  const said = words.value.acting;
  const choices = answer.body.value;
  if (choices === null || choices.length === 0) {
    return (
      <>
        <h2 id="act-title">{said.titles.create}</h2>
        <Answered answer={answer}>{() => <p>{said.noNames}</p>}</Answered>
      </>
    );
  }
  return <Form choices={choices} />;
}

function Form({ choices }: { choices: readonly NameChoice[] }) {
  const said = words.value.acting;
  const shown = parameter('name');
  const name = useSignal(choices.some((each) => each.name === shown) ? shown : choices[0]!.name);
  const key = useSignal('');
  const group = useSignal(session.value?.groups?.[0] ?? '');
  const due = useSignal<When | null>({});
  const payload = usePayload(choices.find((each) => each.name === name.value)?.schema);
  const order: OperationOrder = {
    action: 'create',
    name: name.value,
    payload: payload.json,
    ...(key.value !== '' && { key: key.value }),
    ...(group.value !== '' && { group: group.value }),
    ...due.value,
  };
  return (
    <OrderForm
      title={said.titles.create}
      order={order}
      confirm={said.create}
      isReady={payload.isReady && due.value !== null}
      deed={useOrderDeed()}
    >
      <Names choices={choices} name={name} />
      <div class="field-pair">
        {session.value?.groups === null && (
          <Field label={`${said.key} (${said.optional})`} value={key} maxLength={255} />
        )}
        <Field label={`${said.group} (${said.optional})`} value={group} maxLength={255} />
      </div>
      {key.value !== '' && <p class="hint">{said.keyHint}</p>}
      <WhenFields legend={said.when} ways={['now', 'after', 'at']} when={due} />
      <PayloadFields payload={payload} />
    </OrderForm>
  );
}

function Names({ choices, name }: { choices: readonly NameChoice[]; name: Signal<string> }) {
  const id = useId();
  const said = words.value.acting;
  return (
    <div class="field">
      <label for={id}>{said.name}</label>
      <select
        id={id}
        value={name.value}
        onChange={({ currentTarget }) => {
          name.value = currentTarget.value;
        }}
      >
        {choices.map((each) => (
          <option key={each.name} value={each.name}>
            {each.isServed ? each.name : `${each.name} (${said.notServed})`}
          </option>
        ))}
      </select>
    </div>
  );
}

interface Payload {
  /** `null`: there is no form for it. */
  fields: readonly PlainField[] | null;
  isForm: Signal<boolean>;
  values: Signal<Record<string, string>>;
  text: Signal<string>;
  json: string;
  isReady: boolean;
}

/** A form where the schema is an object of plain fields, else JSON. */
function usePayload(schema: unknown): Payload {
  const fields = plainFieldsOf(schema);
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
    json: isShownAsForm ? jsonOf(fields, values.value) : text.value,
    isReady: isShownAsForm || isJson.value,
  };
}

function PayloadFields({ payload }: { payload: Payload }) {
  const { fields, isForm, values, text, json } = payload;
  const said = words.value.acting;
  if (fields === null) return <PayloadField json={text} />;
  return (
    <fieldset class="payload-fields">
      <legend>
        {said.payload}{' '}
        <button
          type="button"
          class="link"
          onClick={() => {
            if (isForm.value) text.value = json;
            isForm.value = !isForm.value;
          }}
        >
          {isForm.value ? said.asJson : said.asForm}
        </button>
      </legend>
      {isForm.value ? <PlainForm fields={fields} values={values} /> : <PayloadField json={text} />}
    </fieldset>
  );
}
