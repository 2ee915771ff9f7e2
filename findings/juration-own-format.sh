#!/usr/bin/env bash
# Guessed: a duration that juration has printed is one that it reads.
# Seen: '1:30:00', as it prints 90 minutes in its format 'chrono', is read as 31 seconds.
# With: juration@0.1.1. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  juration@0.1.1
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import juration from 'juration';
const printed = juration.stringify(5_400, { format: 'chrono' });
const seen = {
  printed,
  'seconds read': juration.parse(printed),
};
const stated = {
  printed: '1:30:00',
  'seconds read': 31,
};
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
