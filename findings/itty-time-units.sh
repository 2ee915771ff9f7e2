#!/usr/bin/env bash
# Guessed: '30 min' is as good as '30 minutes'.
# Seen: itty-time knows six words, in lower case. Each other unit counts as a millisecond: '30 min'
#   is 30 ms, '1 hr' is 1 ms, '30 Minutes' is 30 ms. Nothing throws.
# With: itty-time@2.0.2. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  itty-time@2.0.2
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { ms } from 'itty-time';
const seen = Object.fromEntries(
  ['30 minutes', '30 min', '30 Minutes', '1 hour', '1 hr'].map((text) => [text, ms(text)]),
);
const stated = {
  '30 minutes': 1_800_000,
  '30 min': 30,
  '30 Minutes': 30,
  '1 hour': 3_600_000,
  '1 hr': 1,
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
