import type { ComponentChildren } from 'preact';
import type { Answer } from '../api/answer.js';
import type { RequestProblem } from '../api/request.js';
import { words } from '../words/language.js';

interface AnsweredProps<Body> {
  answer: Answer<Body>;
  children: (body: Body) => ComponentChildren;
}

/** Shows the answer once there is one; above it, why a newer one failed. */
export function Answered<Body>({ answer, children }: AnsweredProps<Body>) {
  const body = answer.body.value;
  const problem = answer.problem.value;
  const isWaiting = body === null && problem === null;
  return (
    <>
      <ProblemNote problem={problem} />
      {isWaiting && (
        <div class="skeleton" aria-busy="true">
          <p class="unseen">{words.value.loading}</p>
          <span />
          <span />
        </div>
      )}
      {body !== null && children(body)}
    </>
  );
}

/** What went wrong, and what to do about it. */
export function ProblemNote({ problem }: { problem: RequestProblem | null }) {
  const said = words.value.problems;
  return (
    <div role="alert">
      {problem && (
        <p class="problem">
          {said[problem.problem]} {problem.message && <span lang="en">{problem.message}</span>}
        </p>
      )}
    </div>
  );
}

/** Says why there is nothing here, and what would put something here. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <b>{title}</b>
      {children && <p>{children}</p>}
    </div>
  );
}
