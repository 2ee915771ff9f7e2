import { Icon } from '../../../ui/icon.js';
import { LanguageSwitch } from '../../../ui/language-switch.js';
import { ThemeSwitch } from '../../../ui/theme-switch.js';
import { connection } from '../feed/connection.js';
import { known } from '../feed/known.js';
import { languages, words } from '../words/language.js';

export function Header() {
  const { sampleShop, dashboard, apiDocs, toDark, toLight, toOtherLanguage } = words.value;
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
          {known.mode.value?.name === 'demo' && (
            <a class="top-link" href="/delays/">
              {dashboard}
            </a>
          )}
          <a class="top-link" href="/docs">
            {apiDocs}
          </a>
          <LanguageSwitch languages={languages} label={toOtherLanguage} />
          <ThemeSwitch toDark={toDark} toLight={toLight} />
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
