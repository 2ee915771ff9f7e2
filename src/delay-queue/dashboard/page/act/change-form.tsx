import { useSignal } from '@preact/signals';
import type { OperationOrder, Preview, Which } from '../../contract.js';
import type { ChangeAction } from '../words/acting.js';
import { words } from '../words/language.js';
import { counted } from '../words/written.js';
import { isDanger } from './asked.js';
import { OrderForm } from './order-form.js';
import { PreviewSummary, useDryRun } from './preview.js';
import { type EnteredWhen, WhenFields } from './when-fields.js';

/** Beyond this many delays, the viewer has to type the number. */
const UNTYPED_MAX = 100;

type To = Extract<OperationOrder, { action: 'reschedule' }>['to'];

/** Where a dry run of a reschedule moves delays to; the count does not depend on it. */
const ANY: To = { after: '1h' };

interface ChangeFormProps {
  action: ChangeAction;
  which: Which;
  onAccepted: (() => void) | undefined;
}

export function ChangeForm({ action, which, onAccepted }: ChangeFormProps) {
  const to = useSignal<EnteredWhen | null>(ANY);
  const dryRun = useDryRun(changeOrder(action, which, ANY));
  const its = dryRun.preview.value;
  const said = words.value;
  return (
    <OrderForm
      title={said.acting.titles[action]}
      hint={said.acting.hints[action]}
      order={changeOrder(action, which, (to.value ?? ANY) as To)}
      confirm={
        its
          ? said.acting.confirm[action](counted(said, its.changeable))
          : said.acting.titles[action]
      }
      isDanger={isDanger(action)}
      isReady={its !== null && its.changeable.count > 0 && to.value !== null}
      typed={typedFor(its)}
      onAccepted={onAccepted}
    >
      {action === 'reschedule' && (
        <WhenFields legend={said.acting.to} ways={['after', 'extendBy', 'at']} when={to} />
      )}
      {action === 'erase' ? (
        <PreviewSummary dryRun={dryRun} says={said.acting.willErase} />
      ) : (
        <PreviewSummary dryRun={dryRun} says={said.acting.willChange} none={said.acting.nothing} />
      )}
    </OrderForm>
  );
}

const changeOrder = (action: ChangeAction, which: Which, to: To): OperationOrder =>
  action === 'reschedule' ? { action, which, to } : { action, which };

const typedFor = (its: Preview | null): string | undefined =>
  its && its.changeable.count > UNTYPED_MAX ? String(its.changeable.count) : undefined;
