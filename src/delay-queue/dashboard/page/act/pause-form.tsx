import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { OperationOrder } from '../../contract.js';
import { session } from '../api/session.js';
import { fullName } from '../parts/name-link.js';
import { words } from '../words/language.js';
import { Field, OrderForm } from './order-form.js';
import { PreviewSummary, useDryRun } from './preview.js';

export function PauseForm({ name }: { name: string }) {
  const group = useSignal(session.value?.groups?.[0] ?? '');
  const duration = useSignal('');
  const what = { name, ...(group.value.trim() !== '' && { group: group.value.trim() }) };
  const said = words.value.acting;
  const lasts = duration.value.trim();
  return (
    <AffectingForm
      action="pause"
      title={said.pauseName(name)}
      what={what}
      options={lasts === '' ? {} : { for: lasts }}
    >
      <Field
        label={`${words.value.fields.group} (${said.optional})`}
        hint={said.wholeName}
        value={group}
        maxLength={255}
        isLazy
      />
      <Field
        label={`${said.duration} (${said.optional})`}
        hint={said.durationOpen}
        value={duration}
        maxLength={100}
      />
    </AffectingForm>
  );
}

export function ResumeForm({ name, group }: { name: string; group: string | null }) {
  const title = words.value.acting.resumeName(fullName({ name, group }));
  const what = { name, ...(group !== null && { group }) };
  return <AffectingForm action="resume" title={title} what={what} />;
}

interface AffectingFormProps {
  action: 'pause' | 'resume';
  title: string;
  what: { name: string; group?: string };
  /** The number of affected delays does not depend on it. */
  options?: { for?: string };
  children?: ComponentChildren;
}

/** Says how many live delays a pause, or its end, is about. */
function AffectingForm({ action, title, what, options, children }: AffectingFormProps) {
  const dryRun = useDryRun({ action, ...what });
  const said = words.value.acting;
  const order: OperationOrder = { action, ...what, ...options };
  return (
    <OrderForm
      title={title}
      hint={said.hints[action]}
      order={order}
      confirm={words.value.actions[action]}
      isReady={dryRun.problem.value === null}
    >
      {children}
      <PreviewSummary dryRun={dryRun} says={said.affected} />
    </OrderForm>
  );
}
