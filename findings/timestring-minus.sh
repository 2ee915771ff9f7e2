#!/usr/bin/env bash
# Guessed: a minus before a part of a duration counts for that part.
# Seen: timestring drops each minus: '-5m' is five minutes ahead. parse-duration applies the first
#   one to all that follows, and no other: '1h -30m' is 90 minutes, '-1h 30m' is minus 90.
# With: timestring@7.0.0, parse-duration@2.1.9. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  timestring@7.0.0 parse-duration@2.1.9
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import parse from 'parse-duration';
import timestring from 'timestring';
const minutes = (ms) => ms / 60_000;
const seen = {
  "timestring('-5m')": minutes(timestring('-5m', 'ms')),
  "timestring('1h -30m')": minutes(timestring('1h -30m', 'ms')),
  "parse('-5m')": minutes(parse('-5m')),
  "parse('1h -30m')": minutes(parse('1h -30m')),
  "parse('-1h 30m')": minutes(parse('-1h 30m')),
};
const stated = {
  "timestring('-5m')": 5,
  "timestring('1h -30m')": 90,
  "parse('-5m')": -5,
  "parse('1h -30m')": 90,
  "parse('-1h 30m')": -90,
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
