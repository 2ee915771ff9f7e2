import { Meter } from '../../../../ui/meter.js';
import { useDeed } from '../../../../ui/deed.js';
import { ActionButton } from '../../../../ui/action-button.js';
import { count } from '../../../../ui/written.js';
import type { DashboardAction, OperationAction, OperationLine } from '../../contract.js';
import { post, type RequestProblem } from '../api/request.js';
import { may } from '../api/session.js';
import { ProblemNote } from '../parts/problem-note.js';
import { words } from '../words/language.js';
import { counted, partsOf } from '../words/written.js';
import { isOver, total, update } from './followed.js';

export function OperationState({ state }: Pick<OperationLine, 'state'>) {
  return (
    <span class={`pill operation-${state}`}>{words.value.acting.operation.states[state]}</span>
  );
}

export const resultOf = ({ counts }: OperationLine): string => partsOf(words.value, counts);

/** How far one is that has not ended, and what became of one that has. */
export function Progress({ line }: { line: OperationLine }) {
  const said = words.value;
  const { expected } = line;
  const done = total(line);
  if (isOver(line) || expected === null || expected.count === 0) {
    return <span>{resultOf(line)}</span>;
  }
  const text = said.acting.operation.of(count(said, done), counted(said, expected));
  return (
    <span
      class="progress"
      role="progressbar"
      aria-label={said.acting.operation.progress}
      aria-valuemin={0}
      aria-valuemax={expected.count}
      aria-valuenow={Math.min(done, expected.count)}
      aria-valuetext={text}
    >
      <span class="figure">{text}</span>
      <Meter of={done / expected.count} />
    </span>
  );
}

const rightFor = (action: OperationAction): DashboardAction =>
  action === 'resume' ? 'pause' : action;

/** Ends one between two pages. */
export function StopButton({ line }: { line: OperationLine }) {
  const deed = useDeed<RequestProblem>();
  const said = words.value;
  if (line.state !== 'running' || !may(rightFor(line.action))) return null;
  const stop = async (): Promise<void> => {
    update(await post<OperationLine>(`operations/${line.id}/stop`, {}));
  };
  const label = said.acting.operation.stopOf(said.actions[line.action]);
  return (
    <>
      <ActionButton deed={deed} name="stop" ask={stop} label={label}>
        {said.acting.operation.stop}
      </ActionButton>
      <ProblemNote problem={deed.problem.value} />
    </>
  );
}
