#!/usr/bin/env bash
# Guessed: a min-heap with a limit of three keeps the three smallest, as one would want for the next
#   three timers.
# Seen: heap-js drops the last leaf of its array, which need not be the largest: of 5, 3, 9, 4, 1 it
#   keeps 1, 3 and 9.
# With: heap-js@2.7.1. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  heap-js@2.7.1
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { Heap } from 'heap-js';
const heap = new Heap((a, b) => a - b);
heap.limit = 3;
for (const due of [5, 3, 9, 4, 1]) heap.push(due);
const seen = heap.toArray().toSorted((a, b) => a - b);
const stated = [1, 3, 9];
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
