#!/usr/bin/env bash
# Guessed: '*/30 * * * *' fires every thirty minutes, also in the night that has one hour twice.
# Seen: unless it is told otherwise (skipRepeatedHour: false) the second of the two hours is left out: 90
#   minutes pass.
# With: cronosjs@1.7.1. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  cronosjs@1.7.1
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import cronos from 'cronosjs';
const from = new Date('2026-10-24T23:40:00Z');
const next = (options) =>
  cronos.CronosExpression.parse('*/30 * * * *', { timezone: 'Europe/Berlin', ...options })
    .nextNDates(from, 4)
    .map((date) => date.toISOString().slice(11, 16));
const seen = {
  'by default': next({}),
  'skipRepeatedHour: false': next({ skipRepeatedHour: false }),
};
const stated = {
  'by default': ['00:00', '00:30', '02:00', '02:30'],
  'skipRepeatedHour: false': ['00:00', '00:30', '01:00', '01:30'],
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
