#!/usr/bin/env bash
# Guessed: a range that is read and written again is the same range.
# Seen: postgres-range takes the value `infinity` for no bound: '[2027-01-01,infinity)' is written
#   as '[2027-01-01,)', which is another range to Postgres (upper_inf, equality, upper).
# With: postgres-range@1.1.4. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  postgres-range@1.1.4
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import range from 'postgres-range';
const given = ['[2027-01-01,2027-02-01)', '[2027-01-01,infinity)', '[-infinity,2027-01-01)'];
const seen = Object.fromEntries(given.map((text) => [text, range.serialize(range.parse(text))]));
const stated = {
  '[2027-01-01,2027-02-01)': '[2027-01-01,2027-02-01)',
  '[2027-01-01,infinity)': '[2027-01-01,)',
  '[-infinity,2027-01-01)': '(,2027-01-01)',
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
