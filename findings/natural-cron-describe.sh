#!/usr/bin/env bash
# Guessed: what a cron expression is described as is when it fires, or the expression itself is shown.
# Seen: fields are left out: the 13th and every Friday becomes "every day", and every second month
#   becomes every month.
# With: natural-cron@1.1.0. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  natural-cron@1.1.0
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { describeCron } from 'natural-cron';
const seen = {
  '0 9 * * *': describeCron('0 9 * * *'),
  '0 0 13 * 5': describeCron('0 0 13 * 5'),
  '0 0 1 */2 *': describeCron('0 0 1 */2 *'),
};
const stated = {
  '0 9 * * *': 'At 09:00 every day',
  '0 0 13 * 5': 'At 00:00 every day',
  '0 0 1 */2 *': 'At 00:00, on day 1 of the month',
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
