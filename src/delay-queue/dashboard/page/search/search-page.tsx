import { Panel } from '../../../../ui/panel.js';
import { clock, count } from '../../../../ui/written.js';
import { AskButton, EraseButton } from '../act/act-buttons.js';
import { toEraseFilter } from '../act/order-filter.js';
import type { SearchPage as Found } from '../../contract.js';
import type { SearchFilter } from '../../search.table.js';
import { viewHref, parameter } from '../address/address.js';
import { filterOfAddress, filterParameters, searchHref } from '../address/filter.js';
import { type Answer, reload, useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered, Empty } from '../parts/answered.js';
import { Pages } from '../parts/pages.js';
import { Title } from '../parts/title.js';
import { words } from '../words/language.js';
import { counted } from '../words/written.js';
import { FilterBar } from './filter-bar.js';
import { SelectableDelays } from './selectable-delays.js';

/** Delays by a filter, which is in the address. */
export function SearchPage() {
  const filter = filterOfAddress();
  const after = parameter('after');
  const path = withQuery('search', { ...filterParameters(filter), ...(after && { after }) });
  const answer = useAnswer<Found>(path);
  const said = words.value.found;
  return (
    <>
      <header class="found-head">
        <Title text={said.title}>
          {said.title} <Total answer={answer.body.value} />
        </Title>
        <ReadAt answer={answer} />
        <EraseButton filter={toEraseFilter(filter, answer.body.value?.meaning ?? null)} />
        <AskButton asks={{ action: 'create' }} class="button">
          {words.value.acting.newDelay}
        </AskButton>
      </header>
      <FilterBar filter={filter} />
      <Panel id="found" title={said.title}>
        <Answered answer={answer}>
          {(page) => (
            <Results key={path} page={page} filter={filter} isBusy={answer.isLoading.value} />
          )}
        </Answered>
      </Panel>
    </>
  );
}

/** No automatic refresh: rows would move under the pointer. */
function ReadAt({ answer }: { answer: Answer<Found> }) {
  const said = words.value.found;
  if (answer.body.value === null) return null;
  return (
    <p class="read-at note">
      {said.readAt} {clock(new Date(answer.readAtMs.value).toISOString())}{' '}
      <button type="button" class="link" onClick={reload}>
        {said.reload}
      </button>
    </p>
  );
}

function Total({ answer }: { answer: Found | null }) {
  if (!answer?.count) return null;
  return <span class="total figure">{counted(words.value, answer.count)}</span>;
}

interface ResultsProps {
  page: Found;
  filter: SearchFilter;
  isBusy: boolean;
}

function Results({ page, filter, isBusy }: ResultsProps) {
  const said = words.value.found;
  if (page.delays.length === 0 && page.next === null) {
    return Object.keys(filter).length > 0 ? (
      <Empty title={said.none}>{said.noneHint}</Empty>
    ) : (
      <Empty title={said.noDelays}>{said.noDelaysHint}</Empty>
    );
  }
  return (
    <>
      <Meaning page={page} />
      <SelectableDelays page={page} filter={filter} isBusy={isBusy} />
      {page.stoppedAfter !== null && (
        <p class="note">{said.stopped(count(words.value, page.stoppedAfter))}</p>
      )}
      <Pages
        next={page.next}
        href={(after) => searchHref(filter, after)}
        first={words.value.pages.first}
        more={words.value.pages.next}
      />
    </>
  );
}

function Meaning({ page: { meaning, delays } }: { page: Found }) {
  const said = words.value.found;
  if (meaning === null || meaning === 'nothing') return null;
  const key = meaning === 'key' ? delays[0]?.key : undefined;
  return (
    <p class="meaning">
      {said.meanings[meaning]} {key && <a href={viewHref('story', { key })}>{said.story}</a>}
    </p>
  );
}
