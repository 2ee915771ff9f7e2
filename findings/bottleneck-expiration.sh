#!/usr/bin/env bash
# Guessed: with `maxConcurrent: 1`, one job runs at a time, also where `expiration` ends one early.
# Seen: Bottleneck fails the job at its expiration and starts the next one, while the first still
#   runs: two at a time.
# With: bottleneck@2.19.5. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  bottleneck@2.19.5
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import Bottleneck from 'bottleneck';
const limiter = new Bottleneck({ maxConcurrent: 1 });
let running = 0;
let most = 0;
const ends = [];
let second = () => {};
const secondHasBegun = new Promise((resolve) => (second = resolve));
const first = limiter.schedule({ expiration: 50 }, async () => {
  most = Math.max(most, ++running);
  await secondHasBegun;
  running--;
});
const next = limiter.schedule(async () => {
  most = Math.max(most, ++running);
  running--;
  second();
});
await first.catch(({ message }) => ends.push(message));
await next;
const seen = { ends, most };
const stated = { ends: ['This job timed out after 50 ms.'], most: 2 };
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
