import type { RequestProblem } from '../api/request.js';
import { words } from '../words/language.js';

/** Why it did not work, and what to do. */
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
