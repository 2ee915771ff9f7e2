require('elastic-apm-node').start({
  serverUrl: process.env.SINK_URL,
  serviceName: 'orders',
  opentelemetryBridgeEnabled: true,
  apiRequestTime: '1s',
  metricsInterval: 0,
  logLevel: 'off',
});
