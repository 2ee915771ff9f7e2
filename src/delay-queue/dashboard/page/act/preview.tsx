import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { count } from '../../../../ui/written.js';
import type { DelayLine, OperationOrder, Preview } from '../../contract.js';
import { post, problemIn, type RequestProblem } from '../api/request.js';
import { ProblemNote } from '../parts/answered.js';
import { StatePill } from '../parts/state.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { counted, countsText } from '../words/written.js';

/** What the order would change now. It is requested again whenever the order changes. */
export function useDryRun(order: OperationOrder) {
  /** `null`: still loading, or refused. */
  const preview = useSignal<Preview | null>(null);
  const problem = useSignal<RequestProblem | null>(null);
  const tries = useSignal(0);
  useEffect(() => {
    let isWanted = true;
    preview.value = null;
    problem.value = null;
    void (async () => {
      try {
        const answered = await post<Preview>('preview', order);
        if (isWanted) preview.value = answered;
      } catch (error) {
        const refusal = problemIn(error);
        if (isWanted) problem.value = refusal;
      }
    })();
    return () => {
      isWanted = false;
    };
  }, [JSON.stringify(order), tries.value]);
  return {
    preview,
    problem,
    again: (): void => {
      tries.value += 1;
    },
  };
}

interface PreviewSummaryProps {
  dryRun: ReturnType<typeof useDryRun>;
  /** What the count means. */
  says: (n: string) => string;
  /** What it means if the count is zero. */
  none?: string;
}

/** The count, what stays unchanged and why, and the first few. */
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
      {its?.erases && its.changeable.count > 0 && <p>{countsText(words.value, its.erases)}</p>}
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
