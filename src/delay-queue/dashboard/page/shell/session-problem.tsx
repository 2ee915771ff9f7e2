import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Refused } from '../../../../ui/deed.js';
import type { RequestProblem } from '../api/request.js';
import { isSignedOut, openSession } from '../api/session.js';
import { ProblemNote } from '../parts/problem-note.js';
import { words } from '../words/language.js';

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
    if (!(error instanceof Refused)) throw error;
    problem.value = error.problem as RequestProblem;
    setTimeout(() => void open(), AGAIN_AFTER_MS);
  }
}
