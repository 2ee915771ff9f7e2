import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { clock } from '../../../../ui/written.js';
import { connection, overview, trouble } from '../api/live.js';
import { problemIn, type RequestProblem } from '../api/request.js';
import { isSignedOut, openSession, session } from '../api/session.js';
import { ProblemNote } from '../parts/answered.js';
import { words } from '../words/language.js';

/** Put in by the build. */
declare const VERSION: string;

/** Shown while no events arrive. The element is always present, so that screen readers announce its text. */
export function ConnectionBanner() {
  const { asOf, otherVersion } = words.value;
  const title = troubleTitle();
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

function troubleTitle(): string | null {
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

const AGAIN_AFTER_MS = 2_000;

const problem = signal<RequestProblem | null>(null);

/** Shown until the server has said who looks. */
export function SessionProblem() {
  useEffect(() => {
    void open();
  }, []);
  if (isSignedOut.value) return <SignedOut />;
  return (
    <>
      <h1 class="loading">{problem.value ? words.value.notOpened : words.value.loading}</h1>
      <ProblemNote problem={problem.value} />
    </>
  );
}

function SignedOut() {
  const { signedOut, signedOutHint, reloadPage } = words.value;
  return (
    <div role="alert">
      <h1 class="loading">{signedOut}</h1>
      <p>{signedOutHint}</p>
      <button type="button" class="button" onClick={() => location.reload()}>
        {reloadPage}
      </button>
    </div>
  );
}

async function open(): Promise<void> {
  try {
    await openSession();
  } catch (error) {
    problem.value = problemIn(error);
    setTimeout(() => void open(), AGAIN_AFTER_MS);
  }
}
