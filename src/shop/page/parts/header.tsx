import { connection } from '../feed/connection.js';
import { known } from '../feed/known.js';
import { theme, toggleTheme } from '../theme.js';
import { LANGUAGES, language, speak, words, type Language } from '../words/language.js';
import { Icon } from './icon.js';

export function Header() {
  const { sampleShop, apiDocs, toDark, toLight } = words.value;
  const isDark = theme.value === 'dark';
  return (
    <header class="top">
      <div class="frame top-row">
        <p class="brand">
          <span class="mark">
            <Icon name="clock" />
          </span>
          <b>nestjs-delay-queue</b>
          <span class="brand-note">{sampleShop}</span>
        </p>
        <Liveness />
        <nav class="top-tools">
          <a class="top-link" href="/docs">
            {apiDocs}
          </a>
          <LanguageSwitch />
          <button
            type="button"
            class="button bare icon-only"
            aria-label={isDark ? toLight : toDark}
            onClick={toggleTheme}
          >
            <Icon name={isDark ? 'sun' : 'moon'} />
          </button>
        </nav>
      </div>
    </header>
  );
}

function Liveness() {
  const { liveFrom, connecting, lost, trouble } = words.value;
  const state = connection.value;
  const said = {
    live: liveFrom(known.servedBy.value ?? ''),
    connecting,
    lost: lost,
    trouble,
  }[state];
  return <p class={`liveness ${state}`}>{said}</p>;
}

function LanguageSwitch() {
  return (
    <div class="segments" role="group" aria-label={words.value.toOtherLanguage}>
      {(Object.keys(LANGUAGES) as Language[]).map((name) => (
        <button
          key={name}
          type="button"
          lang={LANGUAGES[name].lang}
          aria-pressed={language.value === name}
          onClick={() => speak(name)}
        >
          {LANGUAGES[name].name}
        </button>
      ))}
    </div>
  );
}
