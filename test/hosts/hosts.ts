/** What runs the packed application: an agent in its process, a runtime, or what a bundler made of it. */
export interface Host {
  name: string;
  what: string;
  /** Beside those of the application; all have exact versions. */
  packages: Record<string, string>;
  /** How the built application is started, in its folder. */
  command: string[];
  environment?: Record<string, string>;
  /** A build step before the start, in its folder. */
  build?: string[];
  /** Default `commonjs`, as Nest's own starter has it. */
  module?: 'commonjs' | 'es6';
  /** What the log must say. */
  says?: RegExp;
  /** For `ZoneTrial`: how its processes are started, by turns; the one with the newest zone data last. */
  turns?: string[][];
  /** Whether a delay runs in the trace of the request that scheduled it. */
  joins: boolean;
}

/** Nest 11: the packages of Sentry accept no later one. */
export const APPLICATION = {
  '@nestjs/common': '11.2.10',
  '@nestjs/core': '11.2.10',
  '@nestjs/typeorm': '11.0.3',
  '@opentelemetry/api': '1.9.1',
  'nestjs-delay-queue': 'file:nestjs-delay-queue.tgz',
  pg: '8.23.1',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.2',
  typeorm: '0.3.31',
};

const NODE = { node: '24.21.0' };
const NODE_BIN = 'node_modules/.bin/node';
const ENTRY = 'dist/main.js';

const agent = (
  name: string,
  what: string,
  packages: Record<string, string>,
  environment?: Record<string, string>,
): Host => ({
  name,
  what: `${what}, on Node ${NODE.node}`,
  packages: { ...NODE, ...packages },
  command: [NODE_BIN, '--require', `./agents/${name}.cjs`, ENTRY],
  ...(environment && { environment }),
  joins: true,
});

const runtime = (
  name: string,
  what: string,
  packages: Record<string, string>,
  command: string[],
): Host => ({ name, what, packages, command: [...command, ENTRY], joins: false });

export const HOSTS: Host[] = [
  runtime('node20', 'Node 20, or the one that runs this', {}, [process.execPath]),
  runtime('node24', 'Node 24.21', NODE, [NODE_BIN]),
  runtime('node26', 'Node 26.10', { node: '26.10.0' }, [NODE_BIN]),
  runtime('bun', 'Bun 1.4.5', { bun: '1.4.5' }, ['node_modules/.bin/bun']),
  {
    ...runtime('deno', 'Deno 2.9.6', { deno: '2.9.6' }, ['node_modules/.bin/deno', 'run', '-A']),
    // Its first `require` of so many ES modules does not return.
    module: 'es6',
  },
  {
    ...runtime('zones', 'Node 20, or the one that runs this, and Node 26.10 by turns', {}, []),
    packages: { node: '26.10.0' },
    turns: [[process.execPath], [NODE_BIN]],
  },
  agent('opentelemetry', 'all of OpenTelemetry’s instrumentations', {
    '@opentelemetry/api': '1.10.0',
    '@opentelemetry/auto-instrumentations-node': '0.82.0',
    '@opentelemetry/sdk-node': '0.300.0',
  }),
  agent('dd-trace', 'Datadog’s agent', { 'dd-trace': '6.21.0' }),
  {
    ...agent('dd-trace', 'Datadog’s agent beside a newer API', {
      'dd-trace': '6.21.0',
      '@opentelemetry/api': '1.10.0',
    }),
    name: 'newer-api',
    joins: false,
    says: /has registered @opentelemetry\/api (1\.\d+\.\d+).* Install @opentelemetry\/api@\1/,
  },
  agent(
    'newrelic',
    'New Relic’s agent',
    { newrelic: '14.5.1' },
    {
      NEW_RELIC_APP_NAME: 'orders',
      NEW_RELIC_LICENSE_KEY: 'x'.repeat(40),
      NEW_RELIC_HOST: '127.0.0.1',
      NEW_RELIC_LOG_ENABLED: 'false',
      NEW_RELIC_OPENTELEMETRY_ENABLED: 'true',
    },
  ),
  // Its bridge finds no span in this application's requests.
  { ...agent('elastic', 'Elastic’s agent', { 'elastic-apm-node': '4.18.0' }), joins: false },
  agent('sentry', 'Sentry for Nest', { '@sentry/nestjs': '10.75.3' }),
];
