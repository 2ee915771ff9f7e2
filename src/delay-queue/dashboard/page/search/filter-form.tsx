import { useEffect, useRef } from 'preact/hooks';
import {
  isInput,
  SEARCH_FIELDS,
  type SearchFieldName,
  type SearchFilter,
  TEXT_FIELDS,
} from '../../search.table.js';
import { go } from '../address/address.js';
import { searchHref } from '../address/filter.js';
import { overview } from '../api/live.js';
import { isoFromLocal, localFromMs } from '../parts/local-time.js';
import { words } from '../words/language.js';

const TEXTS = TEXT_FIELDS.filter((field) => isInput(field, 'text'));
const INSTANTS = TEXT_FIELDS.filter((field) => isInput(field, 'instant'));

interface FilterFormProps {
  filter: SearchFilter;
  close: () => void;
}

export function FilterForm({ filter, close }: FilterFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const said = words.value.filter;
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!hasInstants(form.current!)) return;
    close();
    go(searchHref({ ...fieldsBesideForm(filter), ...readForm(new FormData(form.current!)) }));
  };
  return (
    <form class="filter-form" ref={form} onSubmit={submit}>
      {TEXTS.map((field) => (
        <label key={field}>
          <span>{words.value.fields[field]}</span>
          <input
            name={field}
            defaultValue={filter[field] ?? ''}
            placeholder={field === 'header' ? said.headerHint : undefined}
            list={field === 'name' ? 'filter-names' : undefined}
            maxLength={1_000}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      ))}
      {INSTANTS.map((field) => (
        <label key={field}>
          <span>{words.value.fields[field]}</span>
          <input
            type="datetime-local"
            step="1"
            name={field}
            defaultValue={filter[field] === undefined ? '' : localFromMs(Date.parse(filter[field]))}
            onInput={({ currentTarget }) => currentTarget.setCustomValidity('')}
          />
        </label>
      ))}
      <datalist id="filter-names">
        {overview.value?.names.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <p class="buttons">
        <button type="submit" class="button primary">
          {said.apply}
        </button>
        <button type="button" class="button" onClick={close}>
          {words.value.close}
        </button>
      </p>
    </form>
  );
}

/** What the form has no field for. */
const fieldsBesideForm = (filter: SearchFilter): SearchFilter =>
  Object.fromEntries(
    Object.entries(filter).filter(
      ([field]) => 'isElsewhere' in SEARCH_FIELDS[field as SearchFieldName],
    ),
  );

function readForm(data: FormData): SearchFilter {
  const filter: SearchFilter = {};
  const textIn = (field: string): string => {
    const value = data.get(field);
    return typeof value === 'string' ? value.trim() : '';
  };
  for (const field of TEXTS) {
    const value = textIn(field);
    if (value !== '') filter[field] = value;
  }
  for (const field of INSTANTS) {
    const at = isoFromLocal(textIn(field));
    if (at !== null) filter[field] = at;
  }
  return filter;
}

/** Dropping an invalid field silently would find more than the viewer asked for. */
function hasInstants(form: HTMLFormElement): boolean {
  for (const field of INSTANTS) {
    const input = form.elements.namedItem(field) as HTMLInputElement;
    const isNone = input.value !== '' && isoFromLocal(input.value) === null;
    input.setCustomValidity(isNone ? words.value.acting.noSuchTime : '');
  }
  return form.reportValidity();
}
