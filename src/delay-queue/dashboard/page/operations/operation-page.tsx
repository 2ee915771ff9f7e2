import { Panel } from '../../../../ui/panel.js';
import type { OperationLine, OperationView } from '../../contract.js';
import { viewHref, parameter } from '../address/address.js';
import { delayHref } from '../address/filter.js';
import { useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered, Empty } from '../parts/answered.js';
import { asName, FactList } from '../parts/fact.js';
import { Pages } from '../parts/pages.js';
import { Table } from '../parts/table.js';
import { Title } from '../parts/title.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { isOver, latest } from './followed.js';
import { optionsText, Which } from './order-text.js';
import { OperationState, Progress, resultText, StopButton } from './progress.js';

const EVERY_MS = 2_000;

/** One operation: its order, its progress, and what it has changed. */
export function OperationPage() {
  const id = parameter('id');
  return <Details key={id} id={id} />;
}

function Details({ id }: { id: string }) {
  const after = parameter('after');
  const path = withQuery(`operations/${encodeURIComponent(id)}`, { ...(after && { after }) });
  // Its process may be killed, and then no event says so.
  const answer = useAnswer<OperationView>(path, { everyMs: EVERY_MS });
  const its = answer.body.value;
  const said = words.value;
  const { title } = said.acting.operation;
  return (
    <>
      <Title
        key={its === null ? 'unknown' : 'known'}
        text={its ? title(said.actions[its.operation.action]) : said.tabs.operations}
      />
      <Answered answer={answer}>
        {({ operation, changes, next }) => (
          <>
            <Result line={latest(operation)} />
            <div class="delay-columns">
              <Changes
                changes={changes}
                next={next}
                id={id}
                isErase={operation.action === 'erase'}
              />
              <Order line={operation} />
            </div>
          </>
        )}
      </Answered>
    </>
  );
}

function Result({ line }: { line: OperationLine }) {
  const said = words.value.acting.operation;
  const ending = said.endings[line.state];
  return (
    <section class={`explanation operation ${line.state}`} aria-label={said.result}>
      <div>
        <p class="cause">
          <OperationState state={line.state} />{' '}
          {isOver(line) ? resultText(line) || said.nothingYet : <Progress line={line} />}
        </p>
        {ending !== '' && <p>{ending}</p>}
        {line.error !== null && (
          <p class="red" lang="en">
            <bdi>{line.error}</bdi>
          </p>
        )}
      </div>
      <StopButton line={line} />
    </section>
  );
}

function Order({ line }: { line: OperationLine }) {
  const said = words.value;
  const { columns, order, started } = said.acting.operation;
  const { facts } = said.delay;
  return (
    <Panel id="order" title={order}>
      <FactList
        facts={[
          [columns.what, `${said.actions[line.action]} ${optionsText(line)}`],
          [columns.which, <Which key="which" order={line.order} />],
          [columns.who, asName(line.who)],
          [columns.why, asName(line.why)],
          [started, <When key="started" at={line.startedAt} />],
          [facts.ended, line.endedAt && <When at={line.endedAt} />],
          [facts.node, asName(line.node)],
          [facts.id, line.id],
        ]}
      />
    </Panel>
  );
}

interface ChangesProps {
  id: string;
  changes: OperationView['changes'];
  next: string | null;
  isErase: boolean;
}

function Changes({ id, changes, next, isErase }: ChangesProps) {
  const { acting, columns, fields, verdicts } = words.value;
  const said = acting.operation;
  return (
    <Panel id="changes" title={said.changes} note={isErase ? undefined : said.changesHint}>
      {changes.length === 0 ? (
        <Empty title={isErase ? said.noList : said.noChanges}>
          {isErase ? said.noListHint : said.noChangesHint}
        </Empty>
      ) : (
        <Table
          class="changes"
          caption={said.changes}
          rows={changes}
          keyOf={({ id: its }) => its}
          columns={[
            {
              title: columns.delay,
              cell: ({ id: its, key }) => (
                <a class="row-link" href={delayHref({ id: its, endedAt: null })}>
                  <bdi>{key ?? `#${its}`}</bdi>
                </a>
              ),
            },
            { title: fields.name, cell: ({ name }) => <bdi>{name}</bdi> },
            { title: said.verdict, cell: ({ verdict }) => verdicts[verdict] ?? verdict },
          ]}
        />
      )}
      <Pages
        next={next}
        href={(after) => viewHref('operation', { id, after })}
        first={said.first}
        more={said.more}
      />
    </Panel>
  );
}
