import { useEffect, useRef } from 'preact/hooks';
import type { SearchFilter } from '../../contract.js';
import { go } from '../address/address.js';
import { type FilterField, searchHref } from '../address/filter.js';
import { overview } from '../api/live.js';
import { isoOf, localOf } from '../parts/local-time.js';
import { words } from '../words/language.js';

const TEXTS = [
  'name',
  'group',
  'key',
  'keyPrefix',
  'error',
  'header',
  'id',
] as const satisfies readonly FilterField[];
const INSTANTS = [
  'dueFrom',
  'dueBefore',
  'endedFrom',
  'endedBefore',
] as const satisfies readonly FilterField[];

interface FilterFormProps {
  filter: SearchFilter;
  close: () => void;
}

/** Each field of a filter. */
export function FilterForm({ filter, close }: FilterFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const said = words.value.filter;
  useEffect(() => form.current?.querySelector('input')?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!hasInstants(form.current!)) return;
    close();
    go(searchHref({ ...keptOf(filter), ...valuesOf(new FormData(form.current!)) }));
  };
  return (
    <form class="filter-form" ref={form} onSubmit={submit}>
      {TEXTS.map((field) => (
        <label key={field}>
          <span>{said.fields[field]}</span>
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
          <span>{said.fields[field]}</span>
          <input
            type="datetime-local"
            step="1"
            name={field}
            defaultValue={filter[field] === undefined ? '' : localOf(Date.parse(filter[field]))}
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
          {said.close}
        </button>
      </p>
    </form>
  );
}

/** What the form has no field for. */
const keptOf = ({ q, state, errorLine }: SearchFilter): SearchFilter => ({
  ...(errorLine !== undefined && { errorLine }),
  ...(q !== undefined && { q }),
  ...(state !== undefined && { state }),
});

function valuesOf(data: FormData): SearchFilter {
  const filter: SearchFilter = {};
  const valueOf = (field: string): string => {
    const value = data.get(field);
    return typeof value === 'string' ? value.trim() : '';
  };
  for (const field of TEXTS) {
    const value = valueOf(field);
    if (value !== '') filter[field] = value;
  }
  for (const field of INSTANTS) {
    const at = isoOf(valueOf(field));
    if (at !== null) filter[field] = at;
  }
  return filter;
}

/** Tells the viewer otherwise: a filter without one of its conditions finds more. */
function hasInstants(form: HTMLFormElement): boolean {
  for (const field of INSTANTS) {
    const input = form.elements.namedItem(field) as HTMLInputElement;
    const isNone = input.value !== '' && isoOf(input.value) === null;
    input.setCustomValidity(isNone ? words.value.acting.noSuchTime : '');
  }
  return form.reportValidity();
}
