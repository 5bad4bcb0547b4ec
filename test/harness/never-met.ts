/** What each generator never meets, by the reason why. A `*` at the end stands for any rest. What is met after all makes its run fail. */
export type Generator = 'model' | 'fuzz' | 'tamper' | 'money' | 'month';
type Never = Readonly<Record<string, readonly string[]>>;

const WITHOUT_FAULTS = {
  'nothing writes to database or folders from outside': ['ballot_key_unavailable', 'rows_disagree', 'log_disputed'],
  'one request at a time': ['overloaded', 'too_many_at_once', 'busy', 'idempotency_in_progress'],
};
const LETTERS_AND_MAILS = ['Letters/*', 'Mails to voters/*'];
const SHARED = ['Collaboration/*', 'Sponsors/*'];
const SOLD = ['Payments/*', 'Quadratic credits/*'];

export const NEVER_MET: Readonly<Record<Generator, Never>> = {
  model: {
    ...WITHOUT_FAULTS,
    'the providers that are played take every payment': ['payment_provider_unavailable', 'payment_unavailable'],
  },
  fuzz: {
    ...WITHOUT_FAULTS,
    'the providers that are played take every payment': ['payment_provider_unavailable', 'payment_unavailable'],
    'no time passes': ['payment_expired', 'invite_expired', 'download_link_expired', 'letters_dropped'],
    'no worker prints': ['already_downloaded'],
  },
  tamper: { 'an election of one account, with voters by name': [...SOLD, ...LETTERS_AND_MAILS, ...SHARED, 'Groups/*'] },
  money: { 'polls of one owner, whose payers come by themselves': [...LETTERS_AND_MAILS, ...SHARED, 'Groups/*'] },
  month: { 'nothing is sold, and one account does all': [...SOLD, ...SHARED, 'Letters/*'] },
};
