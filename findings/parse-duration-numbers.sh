#!/usr/bin/env bash
# Guessed: '1/2 h' is half an hour, or refused.
# Seen: parse-duration reads 1 ms and 2 h. A number without a unit is milliseconds, wherever it
#   stands, also in '10-20 min'.
# With: parse-duration@2.1.9. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  parse-duration@2.1.9
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import parse from 'parse-duration';
const seen = { '1/2 h': parse('1/2 h'), '10-20 min': parse('10-20 min') };
const stated = { '1/2 h': 2 * 3_600_000 + 1, '10-20 min': 20 * 60_000 + 10 };
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
