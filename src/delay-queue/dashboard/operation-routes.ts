import type { OperationNews } from './operation-news.js';
import type { DashboardQueue } from './queue.js';
import type { Route } from './route.js';

export const operationRoutes = (_queue: DashboardQueue, _news: OperationNews): Route[] => [];
