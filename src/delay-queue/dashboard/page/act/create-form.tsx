import { type Signal, useSignal } from '@preact/signals';
import type { NameChoice, OperationOrder } from '../../contract.js';
import { parameter } from '../address/address.js';
import { useAnswer } from '../api/answer.js';
import { session } from '../api/session.js';
import { Answered } from '../parts/answered.js';
import { words } from '../words/language.js';
import { Labelled } from './labelled.js';
import { Field, OrderForm } from './order-form.js';
import { PayloadFields, usePayload } from './payload-fields.js';
import { type EnteredWhen, WhenFields } from './when-fields.js';

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
  const { acting: said, actions, fields } = words.value;
  const shown = parameter('name');
  const name = useSignal(choices.some((each) => each.name === shown) ? shown : choices[0]!.name);
  const key = useSignal('');
  const group = useSignal(session.value?.groups?.[0] ?? '');
  const due = useSignal<EnteredWhen | null>({});
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
      confirm={actions.create}
      isReady={payload.isReady && due.value !== null}
    >
      <Names choices={choices} name={name} />
      <div class="field-pair">
        {session.value?.groups === null && (
          <Field label={`${fields.key} (${said.optional})`} value={key} maxLength={255} />
        )}
        <Field label={`${fields.group} (${said.optional})`} value={group} maxLength={255} />
      </div>
      {key.value !== '' && <p class="hint">{said.keyHint}</p>}
      <WhenFields legend={said.when} ways={['now', 'after', 'at']} when={due} />
      <PayloadFields payload={payload} />
    </OrderForm>
  );
}

function Names({ choices, name }: { choices: readonly NameChoice[]; name: Signal<string> }) {
  const { acting, fields } = words.value;
  return (
    <Labelled label={fields.name}>
      {(ties) => (
        <select
          {...ties}
          value={name.value}
          onChange={({ currentTarget }) => {
            name.value = currentTarget.value;
          }}
        >
          {choices.map((each) => (
            <option key={each.name} value={each.name}>
              {each.isServed ? each.name : `${each.name} (${acting.notServed})`}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}
