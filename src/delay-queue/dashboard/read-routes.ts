import type { DashboardQueue } from './queue.js';
import type { Route } from './route.js';

export const readRoutes = (_queue: DashboardQueue): Route[] => [];
