const { getNodeAutoInstrumentations } = require('@opentelemetry/auto-instrumentations-node');
const { NodeSDK } = require('@opentelemetry/sdk-node');

let statements = 0;
const counter = {
  onStart() {},
  onEnd({ attributes }) {
    if (attributes['db.system'] ?? attributes['db.system.name']) statements += 1;
  },
  forceFlush: async () => {},
  shutdown: async () => {},
};
globalThis.seen = () => ({ statements });

new NodeSDK({
  spanProcessors: [counter],
  metricReaders: [],
  logRecordProcessors: [],
  instrumentations: [
    getNodeAutoInstrumentations({
      '@opentelemetry/instrumentation-pg': { requireParentSpan: true },
    }),
  ],
}).start();
