import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { StartRefused } from '#src/database/check-server.ts';
import { refuse } from '#src/http/refusals.ts';
import { ApiError } from '#src/platform/errors.ts';
import type { PlanName } from './plan-names.ts';

export type { PlanName } from './plan-names.ts';

export type PlanFeature = 'paid_features' | 'data_export';

const planSchema = z.strictObject({
  votingEvents: z.int().min(0),
  votersPerEvent: z.int().min(0),
  webhookEndpoints: z.int().min(0),
  paidFeatures: z.boolean(),
  dataExport: z.boolean(),
  organizerRequestsPerMinute: z.int().min(1),
  voteRequestsPerMinute: z.int().min(1),
});
export type Plan = Readonly<z.output<typeof planSchema>>;

export type Plans = Readonly<Record<PlanName, Plan>>;

const BUILT_IN: Plans = {
  free: {
    votingEvents: 3,
    votersPerEvent: 100,
    webhookEndpoints: 2,
    paidFeatures: false,
    dataExport: false,
    organizerRequestsPerMinute: 120,
    voteRequestsPerMinute: 600,
  },
  pro: {
    votingEvents: 100,
    votersPerEvent: 50_000,
    webhookEndpoints: 20,
    paidFeatures: true,
    dataExport: true,
    organizerRequestsPerMinute: 1_200,
    voteRequestsPerMinute: 12_000,
  },
  enterprise: {
    votingEvents: 10_000,
    votersPerEvent: 10_000_000,
    webhookEndpoints: 200,
    paidFeatures: true,
    dataExport: true,
    organizerRequestsPerMinute: 12_000,
    voteRequestsPerMinute: 240_000,
  },
};

const changedPlan = planSchema.partial();
const plansSchema = z.strictObject({ free: changedPlan, pro: changedPlan, enterprise: changedPlan }).partial();

/** @throws StartRefused naming the file and its first error */
function readPlansFile(file: string): z.output<typeof plansSchema> {
  try {
    return plansSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (fault) {
    const issue = fault instanceof z.ZodError ? fault.issues[0] : undefined;
    const place = [...(issue?.path ?? []), ...(issue?.code === 'unrecognized_keys' ? issue.keys : [])].join('.');
    const code = fault instanceof SyntaxError ? 'it is not JSON' : Reflect.get(Object(fault), 'code');
    throw new StartRefused(`PLANS_FILE: ${file} cannot be used (${issue ? `${place} ${issue.message}`.trim() : code})`);
  }
}

/** The built-in plans, overridden by the operator's JSON file. @throws StartRefused */
export function readPlans(file: string | undefined): Plans {
  if (file === undefined) return structuredClone(BUILT_IN);
  const set = readPlansFile(file);
  const merge = (name: PlanName): Plan => ({ ...BUILT_IN[name], ...withoutUndefined(set[name] ?? {}) });
  return { free: merge('free'), pro: merge('pro'), enterprise: merge('enterprise') };
}

function withoutUndefined(values: z.output<typeof changedPlan>): Partial<Plan> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** @throws ApiError 403 `forbidden`, reason `plan_feature`, when the plan lacks a feature (completions 1.6). */
export function requireFeature(plan: Plan, feature: PlanFeature): void {
  const granted = feature === 'paid_features' ? plan.paidFeatures : plan.dataExport;
  if (!granted) throw refuse('plan_feature', { feature });
}

/** A 422 `plan_limit` that says which limit and how much it allows. */
export function planLimit(limit: string, max: number): ApiError {
  return new ApiError('plan_limit', `At most ${max} ${limit.replaceAll('_', ' ')} are possible here.`, { limit, max });
}
