import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { type Deed, useDeed } from '../../../../ui/deed.js';
import type { OperationLine, OperationOrder } from '../../contract.js';
import { post, type RequestProblem } from '../api/request.js';
import { follow } from '../operations/followed.js';
import { ProblemNote } from '../parts/problem-note.js';
import { words } from '../words/language.js';
import { asked } from './asked.js';

const WHY_LENGTH_MAX = 1_000;

interface OrderFormProps {
  title: string;
  hint?: string;
  order: OperationOrder;
  /** Says what happens. */
  confirm: string;
  isDanger?: boolean;
  isReady: boolean;
  /** To be typed before it may be confirmed. */
  typed?: string | undefined;
  deed: Deed<RequestProblem>;
  onAccepted?: (() => void) | undefined;
  children?: ComponentChildren;
}

/** Fields of an action, its reason, and the button that has it done. */
export function OrderForm(props: OrderFormProps) {
  const { title, hint, order, confirm, isDanger = false, typed, deed, children } = props;
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
          {said.close}
        </button>
      </p>
    </form>
  );
}

export const useOrderDeed = useDeed<RequestProblem>;

const digits = (text: string): string => text.replaceAll(/\D/g, '');

interface FieldProps {
  label: string;
  hint?: string;
  value: { value: string };
  maxLength?: number;
  inputMode?: 'numeric';
  placeholder?: string;
  isRequired?: boolean;
  /** Only when it is left, since each change is asked about. */
  isLazy?: boolean;
}

/** A text, its label and what is to be known of it. */
export function Field(props: FieldProps) {
  const { label, hint, value, isRequired = false, isLazy = false, ...its } = props;
  const id = useId();
  const take = ({ currentTarget }: { currentTarget: HTMLInputElement }): void => {
    value.value = currentTarget.value;
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        {...its}
        required={isRequired}
        aria-describedby={hint && `${id}-hint`}
        autocomplete="off"
        spellcheck={false}
        value={value.value}
        {...(isLazy ? { onChange: take } : { onInput: take })}
      />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
