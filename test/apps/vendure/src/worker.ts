import { bootstrapWorker } from '@vendure/core';
import { config } from './vendure-config';

void bootstrapWorker(config).then(() => process.send?.('ready'));
