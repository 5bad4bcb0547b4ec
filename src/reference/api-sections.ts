interface ApiSection {
  readonly name: string;
  readonly description: string;
  readonly paths: RegExp;
}

/** The sections in the order of the reference. A route belongs to the first section that matches its path. */
export const API_SECTIONS: readonly ApiSection[] = [
  {
    name: 'Ballots',
    description:
      'What a voting page needs: the event, its ballot, casting and confirming. Called from your server with a key of the scope `vote`.',
    paths: /^\/public\/voting-events\/:idOrCode(\/ballot.*)?$/,
  },
  {
    name: 'Registration and voter keys',
    description: 'Who votes: registration, voter keys by e-mail, and the check of eligibility.',
    paths: /^(\/public\/voting-events\/:idOrCode\/(register|voter-key|voter)|\/confirm-address)\//,
  },
  {
    name: 'Quadratic credits',
    description: 'What a visitor may spend on a quadratic position, and how more is bought.',
    paths: /^\/public\/voting-events\/:idOrCode\/quadratic-credits/,
  },
  {
    name: 'Ballot log',
    description:
      'The tamper-evident log of an event, in the C2SP formats: anybody with a key can check that nothing was changed or removed. The service’s own log at `/log` holds every checkpoint of every event, for witnesses.',
    paths: /^(((\/public\/voting-events\/:idOrCode)?\/log|\/\.well-known)\/|\/verify)/,
  },
  {
    name: 'Voting events',
    description: 'Elections and polls.',
    paths: /^\/voting-events(\/definition|\/:idOrCode(\/copy|\/definition)?)?$/,
  },
  {
    name: 'Positions',
    description: 'The questions on a ballot, each with its voting method.',
    paths: /^\/voting-events\/:idOrCode\/positions/,
  },
  {
    name: 'Candidates',
    description: 'Who or what can be voted for.',
    paths: /^\/voting-events\/:idOrCode\/candidates/,
  },
  {
    name: 'Groups',
    description: 'Groups of voters and candidates. A position with a group is open to its voters alone.',
    paths: /^\/voting-events\/:idOrCode\/groups/,
  },
  {
    name: 'Sponsors',
    description: 'Who supports an event; shown on the ballot.',
    paths: /^\/voting-events\/:idOrCode\/sponsors/,
  },
  {
    name: 'Mails to voters',
    description: 'Voter keys and reminders to many voters at once.',
    paths: /^\/voting-events\/:idOrCode\/(voters\/notify|notifications)/,
  },
  {
    name: 'Letters',
    description: 'Printed letters with voter keys, for voters without an e-mail address.',
    paths: /^(\/voting-events\/:idOrCode\/(voters\/letters|letters)|\/downloads\/letters)/,
  },
  { name: 'Voters', description: 'The roll of an event.', paths: /^\/voting-events\/:idOrCode\/voters/ },
  {
    name: 'Results',
    description: 'Counts, figures, single votes and reports.',
    paths: /^((\/public)?\/voting-events\/:idOrCode\/(results|stats|votes)|\/downloads)/,
  },
  {
    name: 'Payments',
    description: 'Businesses that events are paid through, and every payment.',
    paths:
      /^(\/payments|\/payment-businesses|\/provider-webhooks|\/rehearsal-payments|(\/public)?\/voting-events\/:idOrCode\/payment)/,
  },
  {
    name: 'Collaboration',
    description: 'Sharing an event with another account, and who changed what.',
    paths: /^(\/voting-events\/:idOrCode\/(invites|audit)|\/invites)/,
  },
  {
    name: 'Webhook endpoints',
    description: 'Where events are sent, and every delivery.',
    paths: /^\/webhook-/,
  },
  {
    name: 'Service',
    description: 'Who this is, whether it is well, and its documentation.',
    paths: /^\/($|me$|docs|health|openapi\.json|llms\.txt|reference|sdk\/)/,
  },
];

export const sectionOf = (path: string): ApiSection | undefined =>
  API_SECTIONS.find((section) => section.paths.test(path));
