import { count } from '../../../../ui/written.js';
import { ActButtons } from '../act/act-buttons.js';
import type { SearchPage } from '../../contract.js';
import type { SearchFilter } from '../../search.table.js';
import { toOrderFilter } from '../act/order-filter.js';
import { words } from '../words/language.js';
import { counted } from '../words/written.js';
import { DelayTable } from './delay-table.js';
import { type Selection, useSelection } from './selection.js';

interface SelectableDelaysProps {
  page: SearchPage;
  filter: SearchFilter;
  isBusy: boolean;
}

export function SelectableDelays({ page, filter, isBusy }: SelectableDelaysProps) {
  const selection = useSelection(page.delays);
  return (
    <>
      <DelayTable delays={page.delays} selection={selection} isBusy={isBusy} />
      <SelectionBar selection={selection} page={page} filter={filter} />
    </>
  );
}

interface SelectionBarProps {
  selection: Selection;
  page: SearchPage;
  filter: SearchFilter;
}

/** Stays visible while something is selected. */
function SelectionBar({ selection, page, filter }: SelectionBarProps) {
  const { isAllMatching } = selection;
  const selected = page.delays.filter(selection.has);
  const all = toOrderFilter(filter, page.meaning);
  const said = words.value;
  return (
    <div class="selection-bar" role="region" aria-label={said.selection.label}>
      {selected.length === 0 ? null : (
        <div class="selection-bar-row">
          <p>
            <b>
              {isAllMatching
                ? said.selection.all
                : said.selection.some(count(said, selected.length))}
            </b>
            <AllMatching selection={selection} page={page} filter={filter} />
            <button type="button" class="link" onClick={selection.clear}>
              {said.selection.clear}
            </button>
          </p>
          <ActButtons
            which={isAllMatching && all ? { filter: all } : { ids: selected.map(({ id }) => id) }}
            delays={selected}
            onAccepted={selection.clear}
          />
        </div>
      )}
    </div>
  );
}

function AllMatching({ selection, page, filter }: SelectionBarProps) {
  const said = words.value;
  const isMore = page.next !== null || (page.count?.count ?? 0) > page.delays.length;
  if (selection.isAllMatching || !isMore || toOrderFilter(filter, page.meaning) === null)
    return null;
  return (
    <button type="button" class="link" onClick={selection.selectAllMatching}>
      {page.count
        ? said.selection.allCounted(counted(said, page.count))
        : said.selection.allMatching}
    </button>
  );
}
