import type { VNode } from 'preact';
import { Announcer } from '../../../../ui/announcer.js';
import { ActDialog } from '../act/act-dialog.js';
import { view, type View } from '../address/address.js';
import { session } from '../api/session.js';
import { DeadLetters } from '../dead/dead-letters.js';
import { DelayPage } from '../delay/delay-page.js';
import { FollowedStrip } from '../operations/followed-strip.js';
import { OperationPage } from '../operations/operation-page.js';
import { OperationsPage } from '../operations/operations-page.js';
import { OverviewPage } from '../overview/overview-page.js';
import { SearchPage } from '../search/search-page.js';
import { StoryPage } from '../story/story-page.js';
import { words } from '../words/language.js';
import { ConnectionBanner, SessionProblem } from './trouble.js';
import { Shortcuts } from './keyboard.js';
import { TopBar } from './top-bar.js';

const SHOWN: Record<View, () => VNode> = {
  overview: OverviewPage,
  search: SearchPage,
  delay: DelayPage,
  story: StoryPage,
  dead: DeadLetters,
  operations: OperationsPage,
  operation: OperationPage,
};

export function Page() {
  const Shown = SHOWN[view.value];
  return (
    <>
      <a class="skip" href="#view">
        {words.value.skip}
      </a>
      <TopBar />
      <ConnectionBanner />
      <FollowedStrip />
      <main class="frame view" id="view" tabIndex={-1}>
        {session.value === null ? <SessionProblem /> : <Shown key={view.value} />}
      </main>
      <Footer />
      <Shortcuts />
      <ActDialog />
      <Announcer />
    </>
  );
}

function Footer() {
  const its = session.value;
  if (its === null) return null;
  const { signedInAs, onlyNames, onlyGroups } = words.value;
  return (
    <footer class="frame footer">
      <p>
        {signedInAs(its.who)}
        {its.names !== null && ` ${onlyNames(its.names.join(', '))}`}
        {its.groups !== null && ` ${onlyGroups(its.groups.join(', '))}`}
      </p>
      <p>nestjs-delay-queue {its.version}</p>
    </footer>
  );
}
