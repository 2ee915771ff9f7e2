import { bootstrap } from '@vendure/core';
import { config } from './vendure-config';

void bootstrap(config).then(() => process.send?.('ready'));
