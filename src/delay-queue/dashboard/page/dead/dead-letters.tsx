import { Panel } from '../../../../ui/panel.js';
import { count } from '../../../../ui/written.js';
import type { DeadGroup, DeadView } from '../../contract.js';
import { asked } from '../act/asked.js';
import { searchHref } from '../address/filter.js';
import { useAnswer } from '../api/answer.js';
import { may } from '../api/session.js';
import { Answered } from '../parts/answered.js';
import { Empty } from '../parts/empty.js';
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
      <table class="stacked dead-groups">
        <caption class="unseen">{said.tabs.dead}</caption>
        <thead>
          <tr>
            <th scope="col">{dead.error}</th>
            <th scope="col" class="number">
              {dead.count}
            </th>
            <th scope="col">{dead.newest}</th>
            <th scope="col">{dead.oldest}</th>
            <th scope="col">{dead.act}</th>
          </tr>
        </thead>
        <tbody>
          {its.map((group) => (
            <Group key={`${group.name}\n${group.search.errorLine}`} group={group} />
          ))}
        </tbody>
      </table>
      {newestOnly !== null && <p class="note">{dead.newestOnly(count(said, newestOnly))}</p>}
    </>
  );
}

function Group({ group }: { group: DeadGroup }) {
  const said = words.value;
  const { dead } = said.acting;
  const { name, error, example, search } = group;
  return (
    <tr data-row>
      <th scope="row">
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
      </th>
      <td class="number" data-label={dead.count}>
        {counted(said, group.count)}
      </td>
      <td data-label={dead.newest}>
        <When at={group.newestAt} isShort />
      </td>
      <td data-label={dead.oldest}>
        <When at={group.oldestAt} isShort />
      </td>
      <td>
        <div class="acts">
          <ActAll action="retry" group={group} />
          <ActAll action="discard" group={group} />
        </div>
      </td>
    </tr>
  );
}

function ActAll({ action, group }: { action: 'retry' | 'discard'; group: DeadGroup }) {
  if (!may(action)) return null;
  return (
    <button
      type="button"
      class={`button ${action === 'discard' ? 'danger' : 'plain'}`}
      aria-haspopup="dialog"
      onClick={() => {
        asked.value = { action, which: { filter: group.search } };
      }}
    >
      {words.value.acting.dead[action]}…
    </button>
  );
}
