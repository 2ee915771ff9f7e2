#!/usr/bin/env bash
# Guessed: a heap that takes numbers as priorities can order timers by Date.now().
# Seen: priorities are kept as 32 bits without a sign, unless another array is asked for: two instants a
#   second apart come out in the wrong order where the 32 bits begin again, about every 50 days, and
#   fractions are cut off.
# With: heapify@1.0.2. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  heapify@1.0.2
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { MinQueue } from 'heapify';
const wrap = 420 * 2 ** 32;
const order = (priorities, Priorities) => {
  const queue = new MinQueue(4, [], [], Uint32Array, Priorities ?? Uint32Array);
  for (const [key, priority] of priorities.entries()) queue.push(key, priority);
  return priorities.map(() => queue.pop());
};
const seen = {
  'a second apart': order([wrap - 500, wrap + 500]),
  '1.9 before 1.1': order([1.9, 1.1]),
  'with a Float64Array': order([wrap - 500, wrap + 500], Float64Array),
};
const stated = {
  'a second apart': [1, 0],
  '1.9 before 1.1': [0, 1],
  'with a Float64Array': [0, 1],
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
