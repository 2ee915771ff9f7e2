import { useSignal } from '@preact/signals';
import {
  SEARCH_FIELDS,
  SEARCH_STATES,
  type SearchFieldName,
  type SearchFilter,
  type SearchState,
  TEXT_FIELDS,
} from '../../search.table.js';
import { searchHref } from '../address/filter.js';
import { Icon } from '../../../../ui/icon.js';
import { nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';
import { instant } from '../words/written.js';
import { FilterForm } from './filter-form.js';

/** States as toggles, every other field as a removable chip, and a form for more. */
export function FilterBar({ filter }: { filter: SearchFilter }) {
  const said = words.value.filter;
  const isOpen = useSignal(false);
  const chips = TEXT_FIELDS.filter((field) => filter[field] !== undefined);
  return (
    <section class="filter" aria-label={said.label}>
      <StateLinks filter={filter} />
      <div class="chips">
        {chips.map((field) => (
          <Chip key={field} field={field} filter={filter} />
        ))}
        <button
          type="button"
          class="button"
          aria-expanded={isOpen.value}
          aria-controls="filter-form"
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          {said.more}
        </button>
        {chips.length > 1 && <a href={searchHref({})}>{said.clear}</a>}
      </div>
      <div id="filter-form" hidden={!isOpen.value}>
        {isOpen.value && (
          <FilterForm
            filter={filter}
            close={() => {
              isOpen.value = false;
            }}
          />
        )}
      </div>
    </section>
  );
}

function Chip({ field, filter }: { field: SearchFieldName; filter: SearchFilter }) {
  const { filter: said, fields } = words.value;
  const { [field]: value, ...others } = filter;
  const text = valueText(field, String(value));
  return (
    <a class="chip" href={searchHref(others)} aria-label={said.remove(fields[field], text)}>
      <span class="chip-field">{fields[field]}</span> <bdi>{text}</bdi> <Icon name="cross" />
    </a>
  );
}

const valueText = (field: SearchFieldName, value: string): string =>
  value === ''
    ? words.value.found.noError
    : SEARCH_FIELDS[field].kind === 'instant'
      ? instant(words.value, value, nowSeconds.value)
      : value;

function StateLinks({ filter }: { filter: SearchFilter }) {
  const { state: chosen, ...others } = filter;
  const said = words.value;
  const hrefWith = (state: SearchState): string => {
    const rest = chosen?.filter((each) => each !== state) ?? [];
    const next = rest.length === (chosen?.length ?? 0) ? [...rest, state] : rest;
    return searchHref({ ...others, ...(next.length > 0 && { state: next }) });
  };
  return (
    <nav class="states" aria-label={said.filter.states}>
      <a href={searchHref(others)} aria-current={chosen === undefined ? 'true' : undefined}>
        {said.filter.live}
      </a>
      {SEARCH_STATES.map((state) => (
        <a
          key={state}
          href={hrefWith(state)}
          aria-current={chosen?.includes(state) ? 'true' : undefined}
        >
          {said.states[state]}
        </a>
      ))}
    </nav>
  );
}
