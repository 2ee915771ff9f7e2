import { Panel } from '../../../../ui/panel.js';
import { clock, count } from '../../../../ui/written.js';
import { CreateButton } from '../act/create-button.js';
import { EraseButton } from '../act/erase-button.js';
import { eraseFilterOf } from '../act/order-filter.js';
import type { SearchFilter, SearchPage as Found } from '../../contract.js';
import { hrefOf, parameter } from '../address/address.js';
import { filterOfAddress, hasFields, parametersOf, searchHref } from '../address/filter.js';
import { type Answer, reload, useAnswer } from '../api/answer.js';
import { withQuery } from '../api/request.js';
import { Answered } from '../parts/answered.js';
import { Empty } from '../parts/empty.js';
import { Title } from '../parts/title.js';
import { words } from '../words/language.js';
import { counted } from '../words/written.js';
import { FilterBar } from './filter-bar.js';
import { SelectableDelays } from './selectable-delays.js';

/** Delays by a filter, which is in the address. */
export function SearchPage() {
  const filter = filterOfAddress();
  const after = parameter('after');
  const path = withQuery('search', { ...parametersOf(filter), ...(after && { after }) });
  const answer = useAnswer<Found>(path);
  const said = words.value.found;
  return (
    <>
      <header class="found-head">
        <Title text={said.title}>
          {said.title} <Total answer={answer.body.value} />
        </Title>
        <ReadAt answer={answer} />
        <EraseButton filter={eraseFilterOf(filter, answer.body.value?.meaning ?? null)} />
        <CreateButton />
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

/** Rows do not move by themselves: they would under the pointer. */
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
    return hasFields(filter) ? (
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
      <Pages page={page} filter={filter} />
    </>
  );
}

/** What the text of the one field was taken for. */
function Meaning({ page: { meaning, delays } }: { page: Found }) {
  const said = words.value.found;
  if (meaning === null || meaning === 'nothing') return null;
  const key = meaning === 'key' ? delays[0]?.key : undefined;
  return (
    <p class="meaning">
      {said.meanings[meaning]} {key && <a href={hrefOf('story', { key })}>{said.story}</a>}
    </p>
  );
}

function Pages({ page: { next }, filter }: { page: Found; filter: SearchFilter }) {
  const said = words.value.pages;
  const isFirst = parameter('after') === '';
  if (isFirst && next === null) return null;
  return (
    <nav class="pages" aria-label={said.label}>
      {!isFirst && (
        <a class="button" href={searchHref(filter)}>
          {said.first}
        </a>
      )}
      {next !== null && (
        <a class="button" rel="next" href={searchHref(filter, next)}>
          {said.next}
        </a>
      )}
    </nav>
  );
}
