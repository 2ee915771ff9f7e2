#!/usr/bin/env bash
# Guessed: parsers of durations agree how long '1 month' is; 30 days, probably.
# Seen: three lengths: 30.4375 days (parse-duration), 30.4167 (enhanced-ms), 30 (human-interval,
#   itty-time). '1 year' has two, 365.25 and 365 days; in itty-time, twelve months are five days
#   shorter than a year.
# With: parse-duration@2.1.9, enhanced-ms@5.0.0, human-interval@2.0.1, itty-time@2.0.2. Node 20 or
#   newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  parse-duration@2.1.9 enhanced-ms@5.0.0 human-interval@2.0.1 itty-time@2.0.2
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { ms as enhanced } from 'enhanced-ms';
import humanInterval from 'human-interval';
import { ms as itty } from 'itty-time';
import parse from 'parse-duration';
const parsers = { 'parse-duration': parse, 'enhanced-ms': enhanced, 'human-interval': humanInterval, 'itty-time': itty };
const days = (ms) => Math.round((ms / 86_400_000) * 1e4) / 1e4;
const seen = Object.fromEntries(
  Object.entries(parsers).map(([name, read]) => [name, [days(read('1 month')), days(read('1 year'))]]),
);
const stated = {
  'parse-duration': [30.4375, 365.25],
  'enhanced-ms': [30.4167, 365],
  'human-interval': [30, 365],
  'itty-time': [30, 365.25],
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
