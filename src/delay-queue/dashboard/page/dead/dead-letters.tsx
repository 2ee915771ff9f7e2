import { Panel } from '../../../../ui/panel.js';
import { count } from '../../../../ui/written.js';
import type { DeadGroup, DeadView } from '../../contract.js';
import { AskButton } from '../act/act-buttons.js';
import { searchHref } from '../address/filter.js';
import { useAnswer } from '../api/answer.js';
import { Answered, Empty } from '../parts/answered.js';
import { Table } from '../parts/table.js';
import { Title } from '../parts/title.js';
import { When } from '../parts/when.js';
import { words } from '../words/language.js';
import { counted } from '../words/written.js';

/** Dead letters that failed alike, the newest first, to be dealt with together. */
export function DeadLetters() {
  const answer = useAnswer<DeadView>('dead');
  const said = words.value;
  return (
    <>
      <Title text={said.tabs.dead} />
      <Panel id="dead" title={said.tabs.dead}>
        <Answered answer={answer}>{groups}</Answered>
      </Panel>
    </>
  );
}

function groups({ groups: its, newestOnly }: DeadView) {
  const said = words.value;
  const { dead } = said.acting;
  if (its.length === 0) return <Empty title={dead.none}>{dead.noneHint}</Empty>;
  return (
    <>
      <Table
        class="stacked dead-groups"
        caption={said.tabs.dead}
        rows={its}
        keyOf={({ search }) => JSON.stringify(search)}
        columns={[
          { title: dead.error, cell: (group) => <Group group={group} /> },
          {
            title: dead.count,
            class: 'number',
            isLabelled: true,
            cell: (group) => counted(said, group.count),
          },
          {
            title: dead.newest,
            isLabelled: true,
            cell: (group) => <When at={group.newestAt} isShort />,
          },
          {
            title: dead.oldest,
            isLabelled: true,
            cell: (group) => <When at={group.oldestAt} isShort />,
          },
          { title: dead.act, cell: ({ search }) => <ActOnAll search={search} /> },
        ]}
      />
      {newestOnly !== null && <p class="note">{dead.newestOnly(count(said, newestOnly))}</p>}
    </>
  );
}

function Group({ group: { name, error, example, search } }: { group: DeadGroup }) {
  const { dead } = words.value.acting;
  return (
    <>
      <a
        class="row-link"
        href={searchHref(search)}
        aria-label={`${dead.show}: ${name}, ${error ?? dead.noError}`}
      >
        <bdi>{name}</bdi>
      </a>
      <p class="dead-error">{error === null ? dead.noError : <bdi>{error}</bdi>}</p>
      {example !== null && example !== error && (
        <details class="dead-error">
          <summary>{dead.example}</summary>
          <pre tabIndex={0}>{example}</pre>
        </details>
      )}
    </>
  );
}

const ActOnAll = ({ search }: Pick<DeadGroup, 'search'>) => (
  <div class="acts">
    {(['retry', 'discard'] as const).map((action) => (
      <AskButton key={action} asks={{ action, which: { filter: search } }}>
        {words.value.acting.dead[action]}
      </AskButton>
    ))}
  </div>
);
