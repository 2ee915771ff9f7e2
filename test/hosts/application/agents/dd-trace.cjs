const tracer = require('dd-trace').init({ url: process.env.SINK_URL, flushInterval: 500 });

// Spans of `@opentelemetry/api` become spans of Datadog.
new tracer.TracerProvider().register();
