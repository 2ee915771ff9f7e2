#!/usr/bin/env bash
# Guessed: '5/15 * * * *' is minute 5, 20, 35 and 50, or it is refused.
# Seen: two parsers ignore the step without a word: once an hour, at minute 5.
# With: cron-schedule@6.0.0, cron-converter@2.1.0. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  cron-schedule@6.0.0 cron-converter@2.1.0
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { arrayToString, stringToArray } from 'cron-converter';
import { parseCronExpression } from 'cron-schedule';
const from = new Date('2026-01-30T10:00:00Z');
const next = parseCronExpression('5/15 * * * *').getNextDates(3, from);
const seen = {
  'cron-schedule': next.map((date) => date.toISOString().slice(11, 16)),
  'cron-converter': arrayToString(stringToArray('5/15 * * * *')),
};
const stated = {
  'cron-schedule': ['10:05', '11:05', '12:05'],
  'cron-converter': '5 * * * *',
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
