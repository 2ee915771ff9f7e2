#!/usr/bin/env bash
# Guessed: a parser that reads '0.5h' reads '.5h' too, or refuses it.
# Seen: the point is skipped, and '.5h' is five hours, ten times as long. A minus is skipped as well:
#   '-1h' is one hour ahead.
# With: enhanced-ms@5.0.0. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  enhanced-ms@5.0.0
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import { ms } from 'enhanced-ms';
const hours = (text) => ms(text) / 3_600_000;
const seen = {
  "'0.5h'": hours('0.5h'),
  "'.5h'": hours('.5h'),
  "'-1h'": hours('-1h'),
};
const stated = {
  "'0.5h'": 0.5,
  "'.5h'": 5,
  "'-1h'": 1,
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
