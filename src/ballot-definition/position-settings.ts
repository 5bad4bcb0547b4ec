import { type IsFaulty, NOTHING_FAULTY } from '#src/http/sound-parts.ts';
import type { Issue } from '#src/platform/errors.ts';
import type { Position, VotingMethod } from './types.ts';

/** Settings that only some methods have. */
const SETTINGS = [
  ...(['scoreMin', 'scoreMax', 'cumulativePointBudget'] as const),
  ...(['quadraticBaseCreditBudget', 'quadraticTopUp', 'rules', 'majorityRequired'] as const),
] as const;
type Setting = (typeof SETTINGS)[number];

type MethodSettings = Pick<Position, Setting | 'votingMethod' | 'seats' | 'minSelections' | 'maxSelections'>;

interface MethodRule {
  readonly minSelections: number;
  /** Null: as many as there are candidates. */
  readonly maxSelections: number | null;
  /** Whether a ballot marks at most one candidate. */
  readonly single: boolean;
  readonly settings: Partial<Record<Setting, MethodSettings[Setting]>>;
}

/** The default threshold that a referendum must exceed to pass. */
export const MORE_THAN_HALF = { numerator: 1, denominator: 2, inclusive: false, base: 'yes_no' } as const;

/** Defaults of each method (completions 3, "Positions"), and the settings that belong to it. */
export const METHOD_RULES: Readonly<Record<VotingMethod, MethodRule>> = {
  plurality: { minSelections: 1, maxSelections: 1, single: true, settings: { majorityRequired: null } },
  approval: { minSelections: 0, maxSelections: null, single: false, settings: { majorityRequired: null } },
  referendum: {
    minSelections: 1,
    maxSelections: 1,
    single: true,
    settings: { rules: { threshold: MORE_THAN_HALF, turnoutQuorum: null, approvalQuorum: null } },
  },
  score: { minSelections: 0, maxSelections: null, single: false, settings: { scoreMin: 0, scoreMax: 5 } },
  cumulative: { minSelections: 1, maxSelections: null, single: false, settings: { cumulativePointBudget: 10 } },
  quadratic: {
    minSelections: 1,
    maxSelections: null,
    single: false,
    settings: { quadraticBaseCreditBudget: 100, quadraticTopUp: null },
  },
  ranked_choice: { minSelections: 1, maxSelections: null, single: false, settings: {} },
};

type GivenSettings = {
  readonly [Key in keyof Omit<MethodSettings, 'votingMethod'>]?: MethodSettings[Key] | undefined;
};

/** Settings that a method has and that may be null. */
const OPTIONAL: ReadonlySet<Setting> = new Set(['quadraticTopUp', 'majorityRequired']);

/** Issues of settings that are given but do not belong to the method, and of required settings that are null. */
function refuseUnfit(method: VotingMethod, given: GivenSettings): Issue[] {
  const own = METHOD_RULES[method].settings;
  const foreign = SETTINGS.filter((name) => !(name in own) && given[name] != null);
  const missing = SETTINGS.filter((name) => name in own && !OPTIONAL.has(name) && given[name] === null);
  return [
    ...foreign.map((field) => ({ field, message: `does not belong to the method ${method}` })),
    ...missing.map((field) => ({ field, message: `is required for the method ${method}` })),
  ];
}

function refuseBounds(settings: MethodSettings, isFaulty: IsFaulty): Issue[] {
  const issues: Issue[] = [];
  const { minSelections, maxSelections, votingMethod, scoreMin, scoreMax, seats } = settings;
  const isSound = (...names: (keyof MethodSettings)[]): boolean => !names.some((name) => isFaulty(name));
  if (METHOD_RULES[votingMethod].single && maxSelections !== 1)
    issues.push({ field: 'maxSelections', message: `is 1 for the method ${votingMethod}` });
  if (isSound('minSelections', 'maxSelections') && maxSelections !== null && minSelections > maxSelections)
    issues.push({ field: 'minSelections', message: 'must not be greater than maxSelections' });
  if (isSound('scoreMin', 'scoreMax') && scoreMin !== null && scoreMax !== null && scoreMin >= scoreMax)
    issues.push({ field: 'scoreMax', message: 'must be greater than scoreMin' });
  if (votingMethod === 'referendum' && seats !== 1) issues.push({ field: 'seats', message: 'is 1 for a referendum' });
  const topUp = settings.quadraticTopUp;
  if (topUp?.pricingModel === 'ratio' && topUp.minCredits > topUp.maxCredits)
    issues.push({ field: 'quadraticTopUp.minCredits', message: 'must not be greater than maxCredits' });
  return issues;
}

/** The complete settings of a position: each setting as sent, else as stored, else the method's default. */
export function settle(method: VotingMethod, given: GivenSettings, had: MethodSettings | undefined): MethodSettings {
  const rule = METHOD_RULES[method];
  // A change of the method drops the settings of the old method.
  const base = had?.votingMethod === method ? had : undefined;
  const settingOf = (name: Setting): unknown => {
    if (!(name in rule.settings)) return null;
    if (given[name] !== undefined) return given[name];
    return base === undefined ? rule.settings[name] : base[name];
  };
  const settings = Object.fromEntries(SETTINGS.map((name) => [name, settingOf(name)])) as Pick<MethodSettings, Setting>;
  return {
    votingMethod: method,
    seats: given.seats ?? had?.seats ?? 1,
    minSelections: given.minSelections ?? base?.minSelections ?? rule.minSelections,
    maxSelections:
      given.maxSelections !== undefined
        ? given.maxSelections
        : base === undefined
          ? rule.maxSelections
          : base.maxSelections,
    ...settings,
  };
}

/**
 * Every setting that is foreign to the method, missing or out of bounds.
 * @param isFaulty whether a field was sent in a wrong form; the bounds of such a field are not checked
 */
export const settingIssues = (
  method: VotingMethod,
  given: GivenSettings,
  had: MethodSettings | undefined,
  isFaulty = NOTHING_FAULTY,
): Issue[] => [...refuseUnfit(method, given), ...refuseBounds(settle(method, given, had), isFaulty)];
