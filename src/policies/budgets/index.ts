/** Budgets and rates of tenants: requests, tokens and cost, over limiters of `rate-limiter-flexible` or in memory. */
export type { Budget, BudgetedTurn, ModelCallUsage } from '../../ports/budget.ts';
export { memoryLedger, type UsageLedger, type UsageQuery, type UsageRow } from './ledger.ts';
export type { DollarWindow, LimitWindow, PointLimiter, PointsLeft } from './limiters.ts';
export type { BudgetReserve } from './reserve.ts';
export {
  type BudgetLimits,
  type TokenBudget,
  type TokenBudgetOptions,
  tokenBudget,
  type UsageReport,
} from './token-budget.ts';
