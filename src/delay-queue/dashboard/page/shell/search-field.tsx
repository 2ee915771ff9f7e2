import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { go, parameter, view } from '../address/address.js';
import { filterOfAddress, searchHref } from '../address/filter.js';
import { words } from '../words/language.js';

/** One field for all. The chips of the filter that is shown stay. */
export function SearchField() {
  const { search, searchHint } = words.value;
  const shown = view.value === 'search' ? parameter('q') : '';
  const text = useSignal(shown);
  useEffect(() => {
    text.value = shown;
  }, [shown]);
  const submit = (event: Event): void => {
    event.preventDefault();
    const { q: _old, ...chips } = view.value === 'search' ? filterOfAddress() : {};
    const q = text.value.trim();
    go(searchHref({ ...(q !== '' && { q }), ...chips }));
  };
  return (
    <form class="search-field" role="search" onSubmit={submit}>
      <input
        id="search-field"
        type="search"
        aria-label={search}
        placeholder={searchHint}
        autocomplete="off"
        spellcheck={false}
        maxLength={255}
        value={text}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  );
}
