import { Meter } from '../../../../ui/meter.js';
import { useDeed } from '../../../../ui/deed.js';
import { ActionButton } from '../../../../ui/action-button.js';
import { count } from '../../../../ui/written.js';
import { type OperationLine, rightFor } from '../../contract.js';
import { post, type RequestProblem } from '../api/request.js';
import { may } from '../api/session.js';
import { ProblemNote } from '../parts/answered.js';
import { words } from '../words/language.js';
import { counted, countsText } from '../words/written.js';
import { isOver, total, update } from './followed.js';

export function OperationState({ state }: Pick<OperationLine, 'state'>) {
  return <span class={`pill operation-${state}`}>{words.value.operationStates[state]}</span>;
}

export const resultText = ({ counts }: OperationLine): string => countsText(words.value, counts);

/** The progress of a running operation, and the result of an ended one. */
export function Progress({ line }: { line: OperationLine }) {
  const said = words.value;
  const { expected } = line;
  const done = total(line);
  if (isOver(line) || expected === null || expected.count === 0) {
    return <span>{resultText(line)}</span>;
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
