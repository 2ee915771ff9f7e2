import { inWords, printable } from '../../core/index.js';
import { type Finding, notice, problem } from '../../core/ops.js';
import { counted, shellWord } from './words.js';

/* What is said of delays and nodes, by the health of a node and by the doctor. */

/** Delays of a name that are due. */
interface Overdue {
  name: string;
  count: number;
  oldestMs: number;
}

export const late = ({ name, count, oldestMs }: Overdue): Finding =>
  problem(
    'late',
    `${counted(count)} of ${name} ${count === 1 ? 'is' : 'are'} late, the oldest by ${inWords(oldestMs)}`,
    {
      means: 'No pause and no limit holds them: the nodes have no slot for them, or hang.',
      todo: `nestjs-delay-queue list --name ${shellWord(name)} --state scheduled; then explain one of them.`,
    },
  );

export const unserved = ({ name, count, oldestMs }: Overdue): Finding =>
  problem(
    'unserved',
    `${counted(count)} of ${name} ${count === 1 ? 'is' : 'are'} due, the oldest for ${inWords(oldestMs)}, and no live node ` +
      'serves the name',
    {
      means: 'They wait until a node with its handler runs.',
      todo: 'Start a node that has a handler of this name, or cancel them.',
    },
  );

/** @param held delays of which it has a lease */
export function silent(node: string, silentMs: number, held = 0): Finding {
  const found = `the node ${printable(node)} has been silent for ${inWords(silentMs)}`;
  return held > 0
    ? problem('nodes', `${found} and holds ${counted(held)}`, {
        means: 'Other nodes take them over when their leases end.',
        todo: 'If its process hangs, kill it: that is safe at any time.',
      })
    : notice('nodes', found, {
        means: 'Its process was killed, hangs, or cannot reach the database.',
        todo: 'If it hangs, kill it. Its row goes by itself.',
      });
}
