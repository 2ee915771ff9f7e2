import { count } from '../../../../ui/written.js';
import type { DelayLine, Preview } from '../../contract.js';
import { ProblemNote } from '../parts/problem-note.js';
import { StatePill } from '../parts/state-pill.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { counted, partsOf } from '../words/written.js';
import type { DryRun } from './preview.js';

interface PreviewSummaryProps {
  dryRun: DryRun;
  /** What its number means. */
  says: (n: string) => string;
  /** What it means that there is none. */
  none?: string;
}

/** The number, what stays as it is and why, and the first of them. */
export function PreviewSummary({ dryRun, says, none = says('0') }: PreviewSummaryProps) {
  const { preview, problem, again } = dryRun;
  const its = preview.value;
  const said = words.value.acting;
  return (
    <div class="preview" aria-busy={its === null && problem.value === null}>
      <p class="preview-number" role="status">
        {its
          ? its.changeable.count === 0
            ? none
            : says(counted(words.value, its.changeable))
          : problem.value === null && said.counting}
      </p>
      <ProblemNote problem={problem.value} />
      {problem.value && (
        <button type="button" class="button" onClick={again}>
          {said.countAgain}
        </button>
      )}
      {its?.erases && its.changeable.count > 0 && <p>{partsOf(words.value, its.erases)}</p>}
      {its && <Blocked its={its} />}
      {its && its.sample.length > 0 && <Sample delays={its.sample} />}
    </div>
  );
}

function Blocked({ its: { blocked } }: { its: Preview }) {
  const said = words.value;
  if (blocked.length === 0) return null;
  return (
    <div class="blocked">
      <p>{said.acting.unchanged}</p>
      <ul>
        {blocked.map(({ state, count: its, text }) => (
          <li key={state}>
            <b class="figure">{counted(said, its)}</b> <StatePill state={state} />{' '}
            {said.acting.blocked(state, text)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Sample({ delays }: { delays: readonly DelayLine[] }) {
  const said = words.value;
  return (
    <details class="sample" open={delays.length <= 3}>
      <summary>
        {said.acting.sample} ({count(said, delays.length)})
      </summary>
      <ul>
        {delays.map(({ id, key, name, dueAt, state }) => (
          <li key={id}>
            <bdi>{key ?? `#${id}`}</bdi>
            <bdi class="of">{name}</bdi>
            <StatePill state={state} />
            <When at={dueAt} isShort />
          </li>
        ))}
      </ul>
    </details>
  );
}
