import type { ComponentChildren } from 'preact';
import type { Answer } from '../api/answer.js';
import { words } from '../words/language.js';
import { ProblemNote } from './problem-note.js';

interface AnsweredProps<Body> {
  answer: Answer<Body>;
  children: (body: Body) => ComponentChildren;
}

/** What was answered, once it was; and above it why a newer answer did not come. */
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
