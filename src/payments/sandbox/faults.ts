/** What the sandbox does wrong, as real providers do now and then. Everything is off at first. */
export interface SandboxFaults {
  /** Waits before every answer of the APIs. */
  latencyMs: number;
  /** Answers this status instead of doing anything, so many times. */
  refuseStatus: 0 | 429 | 500 | 503;
  refuseTimes: number;
  /** Does what was asked, then cuts the connection instead of answering, so many times. */
  resetAfterTimes: number;
  /** Does what was asked, then answers what is no JSON, so many times. */
  malformedTimes: number;
  webhooks: 'normal' | 'lost' | 'duplicate' | 'late' | 'reordered' | 'wrong_signature';
  /** How late a late webhook is. */
  lateMs: number;
  /** Pays a page, and tells so, before the call that made the page is answered. */
  payBeforeAnswer: boolean;
  /** What is said to have been paid, in the provider's unit, instead of what was asked for. */
  paidAmount: number | null;
  paidCurrency: string | null;
  refuseRefunds: boolean;
  /** Takes money on pages that have expired. */
  payAfterExpiry: boolean;
}

export const NO_FAULTS: SandboxFaults = {
  latencyMs: 0,
  refuseStatus: 0,
  refuseTimes: 0,
  resetAfterTimes: 0,
  malformedTimes: 0,
  webhooks: 'normal',
  lateMs: 2_000,
  payBeforeAnswer: false,
  paidAmount: null,
  paidCurrency: null,
  refuseRefunds: false,
  payAfterExpiry: false,
};

/** Takes one of a fault's times, if there is one left. */
export function takeFault(faults: SandboxFaults, name: 'refuseTimes' | 'resetAfterTimes' | 'malformedTimes'): boolean {
  if (faults[name] <= 0) return false;
  faults[name] -= 1;
  return true;
}
