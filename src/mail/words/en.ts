/** Texts of an event's mails. They always quote the event's title, so that readers see that the title is the organizers' text. */
export const en = {
  /** @param name null to greet without a name */
  hello: (name: string | null) => (name === null ? 'Hello,' : `Hello ${name},`),
  votingPage: 'To the voting page',
  opens: (date: string) => `Voting begins on ${date}.`,
  closes: (date: string) => `Voting ends on ${date}.`,
  contact: (address: string) => `Questions? Contact the organizers: ${address}`,
  rehearsal: 'This is a rehearsal: what is voted now does not count and will be deleted.',
  /** The answers of a referendum. */
  options: { yes: 'Yes', no: 'No', abstain: 'Abstain' },
  key: {
    subject: (title: string) => `Your voter key for "${title}"`,
    intro: (title: string) => `this is your voter key for the voting event that its organizers call "${title}":`,
    use: 'Type it in on the voting page, with or without the dashes. It is yours alone: whoever has it can vote in your name.',
    notAsked: 'You did not ask for a key? Then you need not do anything.',
  },
  /** Further texts of printed letters. */
  letter: {
    intro: (title: string) => `this is your voter key for the voting event "${title}":`,
    /** Says what to type in, and that the key is secret. The voter sends a voter ID or an e-mail address with the key. */
    use: {
      voterId:
        'Type in both on the voting page: the voter key, with or without the dashes, and your voter ID. Keep the key to yourself: with it, others can vote in your name.',
      email:
        'Type in both on the voting page: the voter key, with or without the dashes, and your e-mail address. Keep the key to yourself: with it, others can vote in your name.',
    },
    key: 'Your voter key',
    voterId: (id: string) => `Voter ID: ${id}`,
    email: (address: string) => `E-mail: ${address}`,
    scan: 'Scan to vote',
    page: (address: string) => `The voting page: ${address}`,
    opened: 'Did this letter reach you opened? Then contact the organizers before you vote.',
  },
  reminder: {
    subject: (title: string) => `Reminder: "${title}"`,
    intro: (title: string) => `this is a reminder of the voting event that its organizers call "${title}".`,
    key: 'Here is a voter key for you; those of earlier mails are valid as well:',
    voted: 'You have voted already? Then you need not do anything.',
  },
  waiting: {
    intro: (title: string) => `a voter key for the voting event that its organizers call "${title}" was asked for.`,
    pending:
      'Your registration still waits for the approval of the organizers. Ask for a key again once they have approved it.',
    rejected: 'The organizers have not approved your registration, so there is no key for you. Please turn to them.',
  },
  registration: {
    subject: (title: string) => `Your registration for "${title}"`,
    intro: (title: string) =>
      `somebody registered this address for the voting event that its organizers call "${title}".`,
    untilUsed: 'Please confirm your address within seven days; otherwise the registration ends by itself.',
    untilDecided: 'Please confirm your address. The organizers decide on your registration.',
    confirm: 'Confirm your address',
    notYou:
      'This confirms your address and nothing else: no vote is cast. Was it not you? Then you need not do anything.',
  },
  addressChanged: {
    subject: (title: string) => `Your address was changed for "${title}"`,
    intro: (title: string) =>
      `the organizers have changed the e-mail address under which you are listed in a voting event, which they call "${title}". Voter keys no longer come to this address, and those that did are no longer valid.`,
    back: (title: string) =>
      `the organizers changed the e-mail address under which you are listed in a voting event, which they call "${title}", and have changed it back since. Voter keys that were mailed in between went to the other address.`,
    warning:
      'If you did not ask for that, turn to the organizers now: whoever reads the other address can vote in your place.',
  },
  closing: {
    subject: (title: string) => `"${title}" is about to close`,
    intro: (title: string, code: string, date: string) => `the voting event "${title}" (${code}) closes on ${date}.`,
    confirmable: 'Ballots that are cast until then can be confirmed for 15 minutes more.',
    later: (call: string) => `A later end is set with ${call} and "endsAt", as long as it takes ballots.`,
  },
  notOpened: {
    subject: (title: string) => `"${title}" did not open`,
    intro: (title: string, code: string, date: string) =>
      `the voting event "${title}" (${code}) was to open on ${date}, and was not ready. It is a draft again.`,
    missing: 'Still missing:',
    opens: (call: string) => `It opens with ${call} and "status": "open", or with a new "startsAt", and not by itself.`,
  },
  invite: {
    subject: (title: string) => `You are invited to "${title}"`,
    viewer: (title: string) =>
      `the organizers of a voting event, which they call "${title}", share it with you: you may look at everything in it.`,
    editor: (title: string) =>
      `the organizers of a voting event, which they call "${title}", share it with you: you may look at everything in it and change it.`,
    token: 'This is the token of your invite:',
    accept: 'Accept it with any organizer key of your account:',
    validity:
      'It is valid for seven days, for the first account that brings it. You do not know the organizers? Then you need not do anything.',
  },
};

export type MailWords = typeof en;
