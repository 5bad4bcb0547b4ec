export type PlanName = 'free' | 'pro' | 'enterprise';
export const PLAN_NAMES: readonly PlanName[] = ['free', 'pro', 'enterprise'];
