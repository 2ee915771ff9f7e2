import { expect, it } from '@jest/globals';
import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  type Arbitrary,
  record,
  subarray,
} from 'fast-check';
import { DelayEvents } from 'nestjs-delay-queue';
import { plainHandler } from '../../support/delay-node.js';
import { repeated } from '../../support/repeated.js';
import { stageOfEach } from '../engine/support/stage-of-each.js';

const NAME = 'test.declared';
const KEYS = ['a', 'b', 'c'];

/** A node whose code declares these keys. */
interface Deploy {
  deployment: string | undefined;
  keys: string[];
}

const stage = stageOfEach();

/** @returns what it told: the keys that it withdrew, and those that are another deployment's */
async function deploy({ deployment, keys }: Deploy) {
  const told = { withdrawn: [] as string[], foreign: [] as string[] };
  const listen = (events: DelayEvents): true => {
    events.on('withdrawn', ({ key }) => void told.withdrawn.push(key));
    events.on('advice', ({ message }) => {
      const [, key] = /\((\w)\) recurs as another deployment/.exec(message) ?? [];
      if (key !== undefined) told.foreign.push(key);
    });
    return true;
  };
  const repeats = keys.map((key) => ({ every: '1h' as const, key }));
  const node = await stage.start({
    options: deployment === undefined ? {} : { deployment },
    providers: [
      repeated(
        plainHandler(NAME, () => {}),
        NAME,
        ...repeats,
      ),
      { provide: 'listener', inject: [DelayEvents], useFactory: listen },
    ],
  });
  await node.stop();
  return { withdrawn: told.withdrawn.toSorted(), foreign: told.foreign.toSorted() };
}

const owners = async (): Promise<Record<string, string | null>> =>
  Object.fromEntries(
    (
      await stage.sql<{ key: string; owner: string | null }>(
        `SELECT key, repeat ->> 'deployment' AS owner FROM delay_queue.delay ORDER BY key`,
      )
    ).map(({ key, owner }) => [key, owner]),
  );

const DEPLOYS: Arbitrary<Deploy> = record({
  deployment: constantFrom(undefined, 'eu', 'us'),
  keys: subarray(KEYS),
});

it('a deployment withdraws and changes its own alone, whoever starts in whatever order, and tells each', async () => {
  await assert(
    asyncProperty(array(DEPLOYS, { minLength: 2, maxLength: 6 }), async (deploys) => {
      await stage.truncate('delay', 'node');
      const model = new Map<string, string | null>();
      for (const each of deploys) {
        const own = each.deployment ?? null;
        const isFree = (key: string): boolean => [null, undefined, own].includes(model.get(key));
        const foreign = each.keys.filter((key) => !isFree(key));
        for (const key of each.keys) if (isFree(key)) model.set(key, own);
        const withdrawn = [...model.keys()].filter(
          (key) => model.get(key) === own && !each.keys.includes(key),
        );
        for (const key of withdrawn) model.delete(key);
        expect(await deploy(each)).toEqual({ withdrawn: withdrawn.toSorted(), foreign });
        expect(await owners()).toEqual(Object.fromEntries(model));
      }
    }),
    { numRuns: 12, endOnFailure: true },
  );
});

it('an older version that starts in a deploy tells what it withdraws, and the newer one brings it back', async () => {
  await deploy({ deployment: undefined, keys: ['a', 'b'] });
  const old = await deploy({ deployment: undefined, keys: ['a'] });
  expect(old.withdrawn).toEqual(['b']);
  await deploy({ deployment: undefined, keys: ['a', 'b'] });
  expect(Object.keys(await owners())).toEqual(['a', 'b']);
});
