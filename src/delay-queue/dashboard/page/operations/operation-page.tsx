import type { ComponentChildren } from 'preact';
import { Panel } from '../../../../ui/panel.js';
import type { OperationLine, OperationView } from '../../contract.js';
import { hrefOf, parameter } from '../address/address.js';
import { delayHref } from '../address/filter.js';
import { useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered } from '../parts/answered.js';
import { Empty } from '../parts/empty.js';
import { Title } from '../parts/title.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { isOver, latest } from './followed.js';
import { optionsOf, Which } from './order-text.js';
import { OperationState, Progress, resultOf, StopButton } from './progress.js';

const EVERY_MS = 2_000;

/** One operation: its order, how far it is, and what it has changed. */
export function OperationPage() {
  const id = parameter('id');
  return <Details key={id} id={id} />;
}

function Details({ id }: { id: string }) {
  const after = parameter('after');
  const path = withQuery(`operations/${encodeURIComponent(id)}`, { ...(after && { after }) });
  // It may run in a process that is killed, and then no event says so.
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
                isFirst={after === ''}
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
          {isOver(line) ? resultOf(line) || said.nothingYet : <Progress line={line} />}
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
  const { columns, order, started, ended, node } = said.acting.operation;
  const options = optionsOf(line);
  return (
    <Panel id="order" title={order}>
      <dl class="facts">
        <Fact name={columns.what}>
          {said.actions[line.action]} {options}
        </Fact>
        <Fact name={columns.which}>
          <Which order={line.order} />
        </Fact>
        <Fact name={columns.who}>
          <bdi>{line.who}</bdi>
        </Fact>
        {line.why !== null && (
          <Fact name={columns.why}>
            <bdi>{line.why}</bdi>
          </Fact>
        )}
        <Fact name={started}>
          <When at={line.startedAt} />
        </Fact>
        {line.endedAt !== null && (
          <Fact name={ended}>
            <When at={line.endedAt} />
          </Fact>
        )}
        {line.node !== null && (
          <Fact name={node}>
            <bdi>{line.node}</bdi>
          </Fact>
        )}
        <Fact name={said.delay.facts.id}>{line.id}</Fact>
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface ChangesProps {
  id: string;
  changes: OperationView['changes'];
  next: string | null;
  isFirst: boolean;
  isErase: boolean;
}

function Changes({ id, changes, next, isFirst, isErase }: ChangesProps) {
  const said = words.value.acting.operation;
  const hrefAfter = (after?: string): string =>
    hrefOf('operation', { id, ...(after && { after }) });
  return (
    <Panel id="changes" title={said.changes} note={isErase ? undefined : said.changesHint}>
      {changes.length === 0 ? (
        <Empty title={isErase ? said.noList : said.noChanges}>
          {isErase ? said.noListHint : said.noChangesHint}
        </Empty>
      ) : (
        <ChangesTable changes={changes} />
      )}
      {(next !== null || !isFirst) && (
        <nav class="pages" aria-label={words.value.pages.label}>
          {!isFirst && (
            <a class="button" href={hrefAfter()}>
              {said.first}
            </a>
          )}
          {next !== null && (
            <a class="button" rel="next" href={hrefAfter(next)}>
              {said.more}
            </a>
          )}
        </nav>
      )}
    </Panel>
  );
}

function ChangesTable({ changes }: Pick<OperationView, 'changes'>) {
  const said = words.value;
  const { operation } = said.acting;
  return (
    <table class="changes">
      <caption class="unseen">{operation.changes}</caption>
      <thead>
        <tr>
          <th scope="col">{operation.delay}</th>
          <th scope="col">{said.acting.name}</th>
          <th scope="col">{operation.verdict}</th>
        </tr>
      </thead>
      <tbody>
        {changes.map(({ id, key, name, verdict }) => (
          <tr key={id} data-row>
            <th scope="row">
              <a class="row-link" href={delayHref({ id, endedAt: null })}>
                <bdi>{key ?? `#${id}`}</bdi>
              </a>
            </th>
            <td>
              <bdi>{name}</bdi>
            </td>
            <td>{operation.verdicts[verdict] ?? verdict}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
