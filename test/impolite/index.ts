/** `npm run impolite`: programs of impolite callers, one seed after the other, for as long as asked. */
import { parseArgs } from 'node:util';
import { programOf } from './generator.js';
import { Ground } from './ground.js';
import { play } from './play.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
    from: { type: 'string', default: Math.random().toString(36).slice(2, 8) },
    verbose: { type: 'boolean', default: false },
  },
});
const ground = await Ground.open();
const endsAtMs = performance.now() + Number(values.minutes) * 60_000;
let n = 0;
const one = async (seed: string): Promise<void> => {
  const began = performance.now();
  const program = programOf(seed);
  if (values.verbose) console.log(JSON.stringify(program, null, 1));
  const faults = await play(ground, program).catch((error) => [`crash: ${error.stack}`]);
  console.log(`${faults.length ? '✗' : '✓'} ${seed} ${Math.round(performance.now() - began)} ms`);
  for (const fault of faults) console.log(`   ${fault}`);
};
if (values.seed) await one(values.seed);
else
  await Promise.all(
    [1, 2, 3].map(async () => {
      while (performance.now() < endsAtMs) await one(`${values.from}-${(n += 1)}`);
    }),
  );
await ground.close();
