import { Panel } from '../../../../ui/panel.js';
import type { AttemptLine, DelayView, MoveLine } from '../../contract.js';
import { Empty } from '../parts/answered.js';
import { ErrorText } from '../parts/error-text.js';
import { At } from '../parts/when.js';
import { words } from '../words/language.js';
import { span } from '../words/written.js';

export function AttemptsPanel({ its }: { its: DelayView }) {
  const said = words.value.delay;
  const { attempts, lastError, keepsAttempts, delay } = its;
  return (
    <Panel id="attempts" title={said.attemptsTitle}>
      {attempts.length > 0 && (
        <ol class="attempts-list">
          {attempts.toReversed().map((attempt) => (
            <Attempt key={`${attempt.attempt} ${attempt.startedAt}`} attempt={attempt} />
          ))}
        </ol>
      )}
      {attempts.length === 0 && delay.attempts === 0 && (
        <Empty title={said.noAttempts}>{said.noAttemptsHint}</Empty>
      )}
      {attempts.length === 0 && delay.attempts > 0 && (
        <>
          <p class="note">{keepsAttempts ? said.attemptsPruned : said.attemptsNotKept}</p>
          {lastError !== null && <ErrorText text={lastError} />}
        </>
      )}
    </Panel>
  );
}

function Attempt({
  attempt: { attempt, outcome, node, startedAt, endedAt, error },
}: {
  attempt: AttemptLine;
}) {
  const said = words.value;
  const tookMs = endedAt === null ? null : Date.parse(endedAt) - Date.parse(startedAt);
  return (
    <li>
      <p class="attempt-head">
        <b class="figure">{said.delay.attempt(attempt)}</b>
        <span class={`pill outcome-${outcome}`}>{said.outcomes[outcome] ?? outcome}</span>
        <At at={startedAt} />
        {tookMs !== null && <span>{said.delay.took(span(said, tookMs))}</span>}
        <span class="note">
          <bdi>{node}</bdi>
        </span>
      </p>
      {error !== null && <ErrorText text={error} />}
    </li>
  );
}

export function MovesPanel({ moves }: { moves: readonly MoveLine[] }) {
  const said = words.value;
  if (moves.length === 0) return null;
  return (
    <Panel id="moves" title={said.delay.movesTitle}>
      <ol class="cards">
        {moves.toReversed().map((move) => (
          <li key={`${move.at} ${move.to}`}>
            <p>
              {said.calls[move.call] ?? move.call}: <At at={move.from} /> → <At at={move.to} />
            </p>
            <p class="note">
              <At at={move.at} /> {move.by !== null && <bdi>{move.by}</bdi>}
            </p>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
