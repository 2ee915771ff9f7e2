#!/usr/bin/env bash
# Guessed: 'every 90 minutes' is every hour and a half, or refused.
# Seen: @breejs/later, by which Bree reads intervals, makes it every hour, 'every 36 hours' every
#   day, and 'every 45 minutes' minute 0 and 45 of each hour.
# With: @breejs/later@4.2.0. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  @breejs/later@4.2.0
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import later from '@breejs/later';
later.date.UTC();
const from = new Date('2027-01-01T00:00:00Z');
const next = (text) =>
  later.schedule(later.parse.text(text)).next(3, from).map((date) => date.toISOString().slice(8, 16));
const seen = Object.fromEntries(
  ['every 45 minutes', 'every 90 minutes', 'every 36 hours'].map((text) => [text, next(text)]),
);
const stated = {
  'every 45 minutes': ['01T00:00', '01T00:45', '01T01:00'],
  'every 90 minutes': ['01T00:00', '01T01:00', '01T02:00'],
  'every 36 hours': ['01T00:00', '02T00:00', '03T00:00'],
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
