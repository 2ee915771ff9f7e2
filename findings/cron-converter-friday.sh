#!/usr/bin/env bash
# Guessed: '0 0 13 * 5' fires on each 13th and on each Friday, as crontab(5) says of two days that are both
#   restricted, and as cronosjs does.
# Seen: cron-converter wants both, so that the next one is a Friday the 13th, six weeks later.
# With: cron-converter@2.1.0, cronosjs@1.7.1. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  cron-converter@2.1.0 cronosjs@1.7.1
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { getSchedule, stringToArray } from 'cron-converter';
import cronos from 'cronosjs';
const from = new Date('2026-01-01T12:00:00Z');
const seen = {
  'cron-converter': getSchedule(stringToArray('0 0 13 * 5'), from, 'UTC').next().toUTC().toISO(),
  cronosjs: cronos.CronosExpression.parse('0 0 13 * 5', { timezone: 'UTC' })
    .nextDate(from)
    .toISOString(),
};
const stated = {
  'cron-converter': '2026-02-13T00:00:00.000Z',
  cronosjs: '2026-01-02T00:00:00.000Z',
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
