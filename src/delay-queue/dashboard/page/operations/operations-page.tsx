import { Panel } from '../../../../ui/panel.js';
import type { OperationLine, OperationsPage as Page } from '../../contract.js';
import { hrefOf, parameter } from '../address/address.js';
import { useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered } from '../parts/answered.js';
import { Empty } from '../parts/empty.js';
import { Title } from '../parts/title.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { latest } from './followed.js';
import { optionsOf, Which } from './order-text.js';
import { OperationState, Progress } from './progress.js';

/** The stream tells of progress and ends; others may start one. */
const EVERY_MS = 5_000;

/** Who has changed what, and why. */
export function OperationsPage() {
  const after = parameter('after');
  const answer = useAnswer<Page>(withQuery('operations', { ...(after && { after }) }), {
    everyMs: EVERY_MS,
  });
  const said = words.value;
  return (
    <>
      <Title text={said.tabs.operations} />
      <Panel id="operations" title={said.tabs.operations}>
        <Answered answer={answer}>
          {({ operations, next }) => (
            <>
              <Lines lines={operations} />
              <p class="note">{said.acting.operation.kept}</p>
              <Pages after={after} next={next} />
            </>
          )}
        </Answered>
      </Panel>
    </>
  );
}

function Lines({ lines }: { lines: readonly OperationLine[] }) {
  const said = words.value;
  const { none, noneHint, columns } = said.acting.operation;
  if (lines.length === 0) return <Empty title={none}>{noneHint}</Empty>;
  return (
    <table class="stacked operations">
      <caption class="unseen">{said.tabs.operations}</caption>
      <thead>
        <tr>
          <th scope="col">{columns.what}</th>
          <th scope="col">{columns.which}</th>
          <th scope="col">{columns.state}</th>
          <th scope="col">{columns.counts}</th>
          <th scope="col">{columns.who}</th>
          <th scope="col">{columns.why}</th>
          <th scope="col">{columns.when}</th>
        </tr>
      </thead>
      <tbody>
        {lines.map((line) => (
          <Line key={line.id} line={latest(line)} />
        ))}
      </tbody>
    </table>
  );
}

function Line({ line }: { line: OperationLine }) {
  const said = words.value;
  return (
    <tr data-row>
      <th scope="row">
        <a class="row-link" href={hrefOf('operation', { id: line.id })}>
          {said.actions[line.action]}
        </a>{' '}
        <span class="of">{optionsOf(line)}</span>
      </th>
      <td class="which">
        <Which order={line.order} />
      </td>
      <td>
        <OperationState state={line.state} />
      </td>
      <td class="figure">
        <Progress line={line} />
      </td>
      <td>
        <bdi>{line.who}</bdi>
      </td>
      <td class="why">{line.why !== null && <bdi>{line.why}</bdi>}</td>
      <td>
        <When at={line.startedAt} />
      </td>
    </tr>
  );
}

function Pages({ after, next }: { after: string; next: string | null }) {
  const said = words.value;
  if (after === '' && next === null) return null;
  return (
    <nav class="pages" aria-label={said.pages.label}>
      {after !== '' && (
        <a class="button" href={hrefOf('operations')}>
          {said.acting.operation.newest}
        </a>
      )}
      {next !== null && (
        <a class="button" rel="next" href={hrefOf('operations', { after: next })}>
          {said.acting.operation.older}
        </a>
      )}
    </nav>
  );
}
