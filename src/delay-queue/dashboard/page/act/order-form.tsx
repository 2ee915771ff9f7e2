import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useDeed } from '../../../../ui/deed.js';
import type { OperationLine, OperationOrder } from '../../contract.js';
import { post, type RequestProblem } from '../api/request.js';
import { follow } from '../operations/followed.js';
import { ProblemNote } from '../parts/answered.js';
import { words } from '../words/language.js';
import { asked } from './asked.js';
import { Labelled } from './labelled.js';

const WHY_LENGTH_MAX = 1_000;

interface OrderFormProps {
  title: string;
  hint?: string;
  order: OperationOrder;
  confirm: string;
  isDanger?: boolean;
  isReady: boolean;
  /** Has to be typed before the action can be confirmed. */
  typed?: string | undefined;
  onAccepted?: (() => void) | undefined;
  children?: ComponentChildren;
}

/** The fields of an action, its reason, and the button that starts it. */
export function OrderForm(props: OrderFormProps) {
  const { title, hint, order, confirm, isDanger = false, typed, children } = props;
  const deed = useDeed<RequestProblem>();
  const why = useSignal('');
  const repeated = useSignal('');
  const said = words.value.acting;
  const isReady = props.isReady && (typed === undefined || digits(repeated.value) === typed);
  const isBusy = deed.busy.value !== null;
  const submit = async (): Promise<void> => {
    const reason = why.value.trim();
    follow(
      await post<OperationLine>('operations', { ...order, ...(reason !== '' && { why: reason }) }),
    );
    props.onAccepted?.();
    asked.value = null;
  };
  return (
    <form
      class="order-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void deed.run('act', submit);
      }}
    >
      <header class="dialog-head">
        <h2 id="act-title">{title}</h2>
      </header>
      {hint && <p class="hint">{hint}</p>}
      {children}
      <Field
        label={`${said.why} (${said.optional})`}
        hint={said.whyHint}
        value={why}
        maxLength={WHY_LENGTH_MAX}
      />
      {typed !== undefined && (
        <Field label={said.typeNumber(typed)} value={repeated} inputMode="numeric" />
      )}
      <ProblemNote problem={deed.problem.value} />
      <p class="buttons">
        <button
          type="submit"
          class={`button ${isDanger ? 'danger-fill' : 'primary'}`}
          aria-disabled={!isReady}
          aria-busy={isBusy}
        >
          {confirm}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            asked.value = null;
          }}
        >
          {words.value.close}
        </button>
      </p>
    </form>
  );
}

const digits = (text: string): string => text.replaceAll(/\D/g, '');

interface FieldProps {
  label: string;
  hint?: string;
  value: { value: string };
  maxLength?: number;
  inputMode?: 'numeric';
  placeholder?: string;
  /** Only on blur, because each change asks for a new preview. */
  isLazy?: boolean;
}

export function Field({ label, hint, value, isLazy, ...its }: FieldProps) {
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }): void => {
    value.value = currentTarget.value;
  };
  return (
    <Labelled label={label} hint={hint}>
      {(ties) => (
        <input
          {...ties}
          {...its}
          autocomplete="off"
          spellcheck={false}
          value={value.value}
          {...(isLazy ? { onChange: take } : { onInput: take })}
        />
      )}
    </Labelled>
  );
}
