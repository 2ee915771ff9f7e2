import { useSignal } from '@preact/signals';
import type { OperationOrder } from '../../contract.js';
import { session } from '../api/session.js';
import { words } from '../words/language.js';
import { Field, OrderForm, useOrderDeed } from './order-form.js';
import { PreviewSummary } from './preview-summary.js';
import { useDryRun } from './preview.js';

/** Of a name, or of one of its groups. */
export function PauseForm({ name }: { name: string }) {
  const group = useSignal(session.value?.groups?.[0] ?? '');
  const duration = useSignal('');
  const deed = useOrderDeed();
  const what = { name, ...(group.value.trim() !== '' && { group: group.value.trim() }) };
  const dryRun = useDryRun({ action: 'pause', ...what });
  const said = words.value.acting;
  const lasts = duration.value.trim();
  return (
    <OrderForm
      title={said.pauseName(name)}
      hint={said.hints.pause}
      order={{ action: 'pause', ...what, ...(lasts !== '' && { for: lasts }) }}
      confirm={said.pause}
      isReady={dryRun.problem.value === null}
      deed={deed}
    >
      <Field
        label={`${said.group} (${said.optional})`}
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
      <PreviewSummary dryRun={dryRun} says={said.affected} />
    </OrderForm>
  );
}

export function ResumeForm({ name, group }: { name: string; group: string | null }) {
  const deed = useOrderDeed();
  const order: OperationOrder = { action: 'resume', name, ...(group !== null && { group }) };
  const dryRun = useDryRun(order);
  const said = words.value.acting;
  return (
    <OrderForm
      title={said.resumeName(group === null ? name : `${name} · ${group}`)}
      hint={said.hints.resume}
      order={order}
      confirm={said.resume}
      isReady={dryRun.problem.value === null}
      deed={deed}
    >
      <PreviewSummary dryRun={dryRun} says={said.affected} />
    </OrderForm>
  );
}
