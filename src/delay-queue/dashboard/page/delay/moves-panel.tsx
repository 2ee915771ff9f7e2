import { Panel } from '../../../../ui/panel.js';
import type { MoveLine } from '../../contract.js';
import { At } from '../parts/when.js';
import { words } from '../words/language.js';

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
