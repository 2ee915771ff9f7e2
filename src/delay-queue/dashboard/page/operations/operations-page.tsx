import { Panel } from '../../../../ui/panel.js';
import type { OperationLine, OperationsPage as Page } from '../../contract.js';
import { viewHref, parameter } from '../address/address.js';
import { useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered, Empty } from '../parts/answered.js';
import { Pages } from '../parts/pages.js';
import { Table } from '../parts/table.js';
import { Title } from '../parts/title.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { latest } from './followed.js';
import { optionsText, Which } from './order-text.js';
import { OperationState, Progress } from './progress.js';

/** The stream reports progress and ends; this also finds operations that others start. */
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
              <Pages
                next={next}
                href={(its) => viewHref('operations', { after: its })}
                first={said.acting.operation.newest}
                more={said.acting.operation.older}
              />
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
    <Table
      class="stacked operations"
      caption={said.tabs.operations}
      rows={lines.map(latest)}
      keyOf={({ id }) => id}
      columns={[
        { title: columns.what, cell: (line) => <What line={line} /> },
        { title: columns.which, class: 'which', cell: ({ order }) => <Which order={order} /> },
        { title: columns.state, cell: ({ state }) => <OperationState state={state} /> },
        { title: columns.counts, class: 'figure', cell: (line) => <Progress line={line} /> },
        { title: columns.who, cell: ({ who }) => <bdi>{who}</bdi> },
        { title: columns.why, class: 'why', cell: ({ why }) => why !== null && <bdi>{why}</bdi> },
        { title: columns.when, cell: ({ startedAt }) => <When at={startedAt} /> },
      ]}
    />
  );
}

function What({ line }: { line: OperationLine }) {
  return (
    <>
      <a class="row-link" href={viewHref('operation', { id: line.id })}>
        {words.value.actions[line.action]}
      </a>{' '}
      <span class="of">{optionsText(line)}</span>
    </>
  );
}
