import type { Deed } from '../../../ui/deed.js';
import type { Problem } from '../shop/request.js';
import type { Words } from '../words/words.js';
import { words } from '../words/language.js';

/** Why it did not work, next to the button. */
export function ProblemLine({ deed }: { deed: Deed<Problem> }) {
  const problem = deed.problem.value;
  return <div role="alert">{problem && <p class="problem">{said(words.value, problem)}</p>}</div>;
}

function said({ problem }: Words, { status, detail }: Problem): string {
  if (status === 0 || status === 404 || status === 503) return problem[status];
  return `${status === 409 ? problem[409] : problem.other} ${detail || status}`;
}
