import { Icon } from '../../../../ui/icon.js';
import { LanguageSwitch } from '../../../../ui/language-switch.js';
import { ThemeSwitch } from '../../../../ui/theme-switch.js';
import { hrefOf, view, type View } from '../address/address.js';
import { connection, overview } from '../api/live.js';
import { session } from '../api/session.js';
import { languages, words } from '../words/language.js';
import { counted } from '../words/written.js';
import { SearchField } from './search-field.js';
import { openShortcuts } from './shortcuts.js';

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
            href={hrefOf(to)}
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
  const counts = overview.value?.names.map(({ dead }) => dead) ?? [];
  const count = counts.reduce((sum, dead) => sum + dead.count, 0);
  if (count === 0) return null;
  const is = counts.find((dead) => dead.is !== 'exact')?.is ?? 'exact';
  return <span class="tab-count"> {counted(words.value, { count, is })}</span>;
}
