import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from '../../../../ui/icon.js';
import { LanguageSwitch } from '../../../../ui/language-switch.js';
import { ThemeSwitch } from '../../../../ui/theme-switch.js';
import { sumCounts } from '../../contract.js';
import { go, parameter, view, type View, viewHref } from '../address/address.js';
import { filterOfAddress, searchHref } from '../address/filter.js';
import { connection, overview } from '../api/live.js';
import { session } from '../api/session.js';
import { languages, words } from '../words/language.js';
import { counted } from '../words/written.js';
import { openShortcuts } from './keyboard.js';

export function TopBar() {
  const { language, toDark, toLight, shortcuts, brand, connections } = words.value;
  return (
    <header class="top">
      <div class="frame top-row">
        <a class="brand" href="./">
          <span class="mark">
            <Icon name="clock" />
          </span>
          <b>{brand}</b>
        </a>
        <EnvironmentBadge />
        <QueueSwitch />
        <Tabs />
        <SearchField />
        <div class="top-tools">
          <p class={`liveness ${connection.value}`}>{connections[connection.value]}</p>
          <button
            type="button"
            class="button bare icon-only shortcuts-button"
            aria-label={shortcuts}
            onClick={openShortcuts}
          >
            ?
          </button>
          <LanguageSwitch languages={languages} label={language} />
          <ThemeSwitch toDark={toDark} toLight={toLight} />
        </div>
      </div>
    </header>
  );
}

function EnvironmentBadge() {
  const environment = session.value?.environment;
  if (!environment) return null;
  return (
    <span class={`environment ${environment.tone}`} title={words.value.environment}>
      <bdi>{environment.label}</bdi>
    </span>
  );
}

/** Each queue has a page of its own, so that an address names what it shows. */
function QueueSwitch() {
  const queues = session.value?.queues ?? [];
  if (queues.length === 0) return null;
  return (
    <select
      class="queue-switch"
      aria-label={words.value.queue}
      onChange={({ currentTarget }) => location.assign(currentTarget.value)}
    >
      {queues.map(({ name, href, isShown }) => (
        <option key={name} value={href} selected={isShown}>
          {name}
        </option>
      ))}
    </select>
  );
}

const TABS = [
  { to: 'overview', also: [] },
  { to: 'search', also: ['delay', 'story'] },
  { to: 'dead', also: [] },
  { to: 'operations', also: ['operation'] },
] as const satisfies readonly { to: View; also: readonly View[] }[];

function Tabs() {
  const { tabs, views } = words.value;
  const shown = view.value;
  return (
    <nav class="tabs" aria-label={views}>
      {TABS.map(({ to, also }) => {
        const isWithin = also.some((each) => each === shown);
        return (
          <a
            key={to}
            href={viewHref(to)}
            aria-current={shown === to ? 'page' : isWithin ? 'true' : undefined}
          >
            {tabs[to]}
            {to === 'dead' && <DeadCount />}
          </a>
        );
      })}
    </nav>
  );
}

function DeadCount() {
  const dead = sumCounts(overview.value?.names.map((line) => line.dead) ?? []);
  if (dead.count === 0) return null;
  return <span class="tab-count"> {counted(words.value, dead)}</span>;
}

/** One field searches everything. The current filter's chips stay. */
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
