import { useSignal } from '@preact/signals';
import type { SearchFilter, SearchState } from '../../contract.js';
import { FIELDS, type FilterField, searchHref, STATES } from '../address/filter.js';
import { Icon } from '../../../../ui/icon.js';
import { nowSeconds } from '../parts/when.js';
import { words } from '../words/language.js';
import { instant } from '../words/written.js';
import { FilterForm } from './filter-form.js';

/** The states one click away, each other field as a chip that can be taken off, and a form for more. */
export function FilterBar({ filter }: { filter: SearchFilter }) {
  const said = words.value.filter;
  const isOpen = useSignal(false);
  const chips = FIELDS.filter((field) => field !== 'state' && filter[field] !== undefined);
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

function Chip({ field, filter }: { field: FilterField; filter: SearchFilter }) {
  const said = words.value.filter;
  const { [field]: value, ...others } = filter;
  const text = textOf(field, String(value));
  return (
    <a class="chip" href={searchHref(others)} aria-label={said.remove(said.fields[field], text)}>
      <span class="chip-field">{said.fields[field]}</span> <bdi>{text}</bdi> <Icon name="cross" />
    </a>
  );
}

const isInstant = (field: FilterField): boolean => /^(due|ended)/.test(field);

const textOf = (field: FilterField, value: string): string =>
  value === ''
    ? words.value.found.noError
    : isInstant(field)
      ? instant(words.value, value, nowSeconds.value)
      : value;

/** Live states and ended ones; live ones without any. */
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
      {STATES.map((state) => (
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
