#!/usr/bin/env bash
# Guessed: long-timeout differs from the timers of Node by its range alone.
# Seen: it drops the arguments after the delay: the callback is called without any.
# With: long-timeout@0.1.1. Node 20 or newer.
set -euo pipefail
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --no-audit --no-fund --ignore-scripts --loglevel error \
  long-timeout@0.1.1
npm ls --depth 0 | tail -n +2
node --input-type=module <<'JS'
import { isDeepStrictEqual } from 'node:util';
import lt from 'long-timeout';
const called = (timers) => new Promise((done) => timers.setTimeout((...given) => done(given), 1, 'order', 42));
const seen = { node: await called(globalThis), 'long-timeout': await called(lt) };
const stated = { node: ['order', 42], 'long-timeout': [] };
console.log(seen);
if (!isDeepStrictEqual(seen, stated)) {
  console.error('This differs from what was seen before:', stated);
  process.exit(1);
}
process.exit(0);
JS
