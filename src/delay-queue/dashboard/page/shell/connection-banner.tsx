import { clock } from '../../../../ui/written.js';
import { connection, overview, trouble } from '../api/live.js';
import { isSignedOut, session } from '../api/session.js';
import { words } from '../words/language.js';

/** Put in by the build. */
declare const VERSION: string;

/** Shown while no news come. The element is always there, so that its text is read out. */
export function ConnectionBanner() {
  const { asOf, otherVersion } = words.value;
  const title = titleOf();
  const last = overview.value?.now;
  const served = session.value?.version;
  return (
    <div role="status" class="banner-place">
      {title && <Line title={title} more={last && asOf(clock(last))} />}
      {served !== undefined && served !== VERSION && (
        <Line title={otherVersion(served, VERSION)} more={undefined} />
      )}
    </div>
  );
}

function titleOf(): string | null {
  const { lost, problems } = words.value;
  if (isSignedOut.value) return null;
  if (connection.value === 'lost') return lost;
  if (connection.value !== 'trouble' || trouble.value === null) return null;
  return problems[trouble.value.problem] || trouble.value.message;
}

function Line({ title, more }: { title: string; more: string | undefined }) {
  return (
    <p class="banner">
      <span class="frame">
        <b>{title}</b> {more}
      </span>
    </p>
  );
}
