import { expect, it } from '@jest/globals';
import { until } from '../../support/until.js';
import { startWith } from '../engine/support/batch-stage.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';
import { KEPT, told } from './support/told.js';

const stage = stageOfEach();

const failTogether = ({ length }: readonly unknown[]): void => {
  if (length > 1) throw new Error('no');
};

it.each(['plain', 'transactional'] as const)(
  'of a %s batch that was split is told, and what became of each alone',
  async (kind) => {
    const { node, scheduleTogether } = await startWith(stage, kind, failTogether, {}, KEPT);
    await scheduleTogether(['a', 'b']);
    for (const key of ['a', 'b']) {
      await until(
        () => node.delays.history('test.batch', key),
        ({ length }) => length === 1,
      );
      expect(await told(node, key)).toEqual([['completed', '1 split: Error: no', '1 completed']]);
    }
  },
);
