import type { DashboardQueue } from './queue.js';
import type { Route } from './route.js';

export const operationRoutes = (_queue: DashboardQueue): Route[] => [];
