import { signal } from '@preact/signals';
import { known } from '../feed/known.js';
import { words } from '../words/language.js';
import { Announcements } from './announcements.js';
import { Banner } from './banner.js';
import { Campaigns } from './campaigns.js';
import { Catalog } from './catalog.js';
import { Durations } from './durations.js';
import { Guide } from './guide.js';
import { Happenings } from './happenings.js';
import { Header } from './header.js';
import { Histogram } from './histogram.js';
import { InvariantStrip } from './invariant-strip.js';
import { Merchants } from './merchants.js';
import { Messages } from './messages.js';
import { Orders } from './orders.js';
import { Processes } from './processes.js';
import { Races } from './races.js';

/** As in `frame.css`. */
const TWO_COLUMNS = '(min-width: 64rem)';

const isWide = signal(matchMedia(TWO_COLUMNS).matches);
matchMedia(TWO_COLUMNS).addEventListener('change', ({ matches }) => {
  isWide.value = matches;
});

export function Page() {
  return (
    <>
      <a class="skip" href="#orders">
        {words.value.skip}
      </a>
      <Header />
      <Banner />
      {known.isLoaded.value ? <Shop /> : <Loading />}
      <Announcements />
    </>
  );
}

function Shop() {
  const { headline, lede, footer } = words.value;
  return (
    <>
      <main class="frame">
        <InvariantStrip />
        <div class="intro">
          <div class="intro-words">
            <h1>{headline}</h1>
            <p class="lede">{lede}</p>
            <Guide />
          </div>
          {isWide.value && <Durations />}
        </div>
        {isWide.value ? <TwoColumns /> : <OneColumn />}
      </main>
      <footer class="frame footer">{footer}</footer>
    </>
  );
}

function TwoColumns() {
  return (
    <div class="columns">
      <div class="column">
        <Catalog />
        <Orders />
        <Merchants />
        <Campaigns />
        <Messages />
      </div>
      <div class="column">
        <Races />
        <Processes />
        <Histogram />
        <Happenings />
      </div>
    </div>
  );
}

/** The guide's panels come first. Not by CSS: keyboard order is the order of the elements. */
function OneColumn() {
  return (
    <div class="columns">
      <div class="column">
        <Catalog />
        <Orders />
        <Races />
        <Processes />
        <Happenings />
        <Messages />
        <Histogram />
        <Merchants />
        <Campaigns />
        <Durations />
      </div>
    </div>
  );
}

function Loading() {
  return (
    <main class="frame" aria-busy="true">
      <h1 class="loading">{words.value.loading}</h1>
      <div class="skeleton" aria-hidden="true">
        <span />
        <span />
        <span />
      </div>
    </main>
  );
}
