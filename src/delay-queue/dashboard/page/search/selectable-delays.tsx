import { count } from '../../../../ui/written.js';
import { ActButtons } from '../act/act-buttons.js';
import type { DelayLine, SearchFilter, SearchPage } from '../../contract.js';
import { orderFilterOf } from '../act/order-filter.js';
import { DelayTable } from '../parts/delay-table.js';
import { words } from '../words/language.js';
import { counted } from '../words/written.js';
import { type Selection, useSelection } from './selection.js';
import { isSelectable } from './toggled-range.js';

interface SelectableDelaysProps {
  page: SearchPage;
  filter: SearchFilter;
  isBusy: boolean;
}

export function SelectableDelays({ page, filter, isBusy }: SelectableDelaysProps) {
  const selection = useSelection(page.delays);
  const said = words.value.selection;
  const selectable = page.delays.filter(isSelectable);
  return (
    <>
      <DelayTable
        caption={words.value.found.title}
        delays={page.delays}
        isBusy={isBusy}
        isSelected={selection.has}
        select={{
          all: selectable.length > 0 && (
            <input
              type="checkbox"
              aria-label={said.page}
              checked={selectable.every(selection.has)}
              onClick={selection.togglePage}
            />
          ),
          one: (delay, at) =>
            isSelectable(delay) && (
              <input
                type="checkbox"
                aria-label={said.one(delay.key ?? `#${delay.id}`)}
                checked={selection.has(delay)}
                onClick={({ shiftKey }) => selection.toggle(at, shiftKey)}
              />
            ),
        }}
      />
      <SelectionBar selection={selection} page={page} filter={filter} />
    </>
  );
}

interface SelectionBarProps {
  selection: Selection;
  page: SearchPage;
  filter: SearchFilter;
}

/** Stays in sight while something is selected. */
function SelectionBar({ selection, page, filter }: SelectionBarProps) {
  const { isAllMatching } = selection;
  const selected = page.delays.filter(selection.has);
  const all = orderFilterOf(filter, page.meaning);
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
            which={isAllMatching && all ? { filter: all } : { ids: idsOf(selected) }}
            delays={selected}
            onAccepted={selection.clear}
          />
        </div>
      )}
    </div>
  );
}

const idsOf = (delays: readonly DelayLine[]): string[] => delays.map(({ id }) => id);

function AllMatching({ selection, page, filter }: SelectionBarProps) {
  const said = words.value;
  const isMore = page.next !== null || (page.count?.count ?? 0) > page.delays.length;
  if (selection.isAllMatching || !isMore || orderFilterOf(filter, page.meaning) === null)
    return null;
  return (
    <button type="button" class="link" onClick={selection.selectAllMatching}>
      {page.count
        ? said.selection.allCounted(counted(said, page.count))
        : said.selection.allMatching}
    </button>
  );
}
