import type { MailWords } from './en.ts';

export const de: MailWords = {
  hello: (name) => (name === null ? 'Guten Tag,' : `Guten Tag ${name},`),
  votingPage: 'Zur Abstimmungsseite',
  opens: (date) => `Die Abstimmung beginnt am ${date}.`,
  closes: (date) => `Die Abstimmung endet am ${date}.`,
  contact: (address) => `Fragen? Wenden Sie sich an die Veranstalter: ${address}`,
  rehearsal: 'Dies ist eine Probe: Was jetzt abgestimmt wird, zählt nicht und wird gelöscht.',
  options: { yes: 'Ja', no: 'Nein', abstain: 'Enthaltung' },
  key: {
    subject: (title) => `Ihr Wahlschlüssel für „${title}“`,
    intro: (title) => `dies ist Ihr Wahlschlüssel für die Abstimmung, die ihre Veranstalter „${title}“ nennen:`,
    use: 'Geben Sie ihn auf der Abstimmungsseite ein, mit oder ohne Striche. Er gehört nur Ihnen: Wer ihn hat, kann in Ihrem Namen abstimmen.',
    notAsked: 'Sie haben keinen Schlüssel angefordert? Dann brauchen Sie nichts zu tun.',
  },
  letter: {
    intro: (title) => `dies ist Ihr Wahlschlüssel für die Abstimmung „${title}“:`,
    use: {
      voterId:
        'Geben Sie auf der Abstimmungsseite beides ein: den Wahlschlüssel, mit oder ohne Striche, und Ihre Wählernummer. Der Schlüssel gehört nur Ihnen: Wer ihn hat, kann in Ihrem Namen abstimmen.',
      email:
        'Geben Sie auf der Abstimmungsseite beides ein: den Wahlschlüssel, mit oder ohne Striche, und Ihre E-Mail-Adresse. Der Schlüssel gehört nur Ihnen: Wer ihn hat, kann in Ihrem Namen abstimmen.',
    },
    key: 'Ihr Wahlschlüssel',
    voterId: (id) => `Wählernummer: ${id}`,
    email: (address) => `E-Mail: ${address}`,
    scan: 'Scannen und abstimmen',
    page: (address) => `Die Abstimmungsseite: ${address}`,
    opened: 'Kam dieser Brief geöffnet bei Ihnen an? Dann wenden Sie sich an die Veranstalter, bevor Sie abstimmen.',
  },
  reminder: {
    subject: (title) => `Erinnerung: „${title}“`,
    intro: (title) => `dies ist eine Erinnerung an die Abstimmung, die ihre Veranstalter „${title}“ nennen.`,
    key: 'Hier ist ein Wahlschlüssel für Sie; Schlüssel aus früheren Mails gelten ebenfalls:',
    voted: 'Sie haben schon abgestimmt? Dann brauchen Sie nichts zu tun.',
  },
  waiting: {
    intro: (title) =>
      `für die Abstimmung, die ihre Veranstalter „${title}“ nennen, wurde ein Wahlschlüssel angefordert.`,
    pending:
      'Ihre Anmeldung wartet noch auf die Zustimmung der Veranstalter. Fordern Sie den Schlüssel wieder an, sobald sie zugestimmt haben.',
    rejected:
      'Die Veranstalter haben Ihrer Anmeldung nicht zugestimmt, deshalb gibt es keinen Schlüssel für Sie. Bitte wenden Sie sich an sie.',
  },
  registration: {
    subject: (title) => `Ihre Anmeldung für „${title}“`,
    intro: (title) =>
      `jemand hat diese Adresse für die Abstimmung angemeldet, die ihre Veranstalter „${title}“ nennen.`,
    untilUsed: 'Bitte bestätigen Sie Ihre Adresse innerhalb von sieben Tagen; sonst endet die Anmeldung von selbst.',
    untilDecided: 'Bitte bestätigen Sie Ihre Adresse. Über Ihre Anmeldung entscheiden die Veranstalter.',
    confirm: 'Adresse bestätigen',
    notYou:
      'Damit wird nur Ihre Adresse bestätigt und keine Stimme abgegeben. Sie waren es nicht? Dann brauchen Sie nichts zu tun.',
  },
  addressChanged: {
    subject: (title) => `Ihre Adresse für „${title}“ wurde geändert`,
    intro: (title) =>
      `die Veranstalter haben die E-Mail-Adresse geändert, unter der Sie in einer Abstimmung geführt werden, die sie „${title}“ nennen. Wahlschlüssel kommen nicht mehr an diese Adresse, und die bisherigen gelten nicht mehr.`,
    back: (title) =>
      `die Veranstalter haben die E-Mail-Adresse geändert, unter der Sie in einer Abstimmung geführt werden, die sie „${title}“ nennen, und die Änderung inzwischen zurückgenommen. Wahlschlüssel, die dazwischen verschickt wurden, gingen an die andere Adresse.`,
    warning:
      'Wenn Sie das nicht veranlasst haben, wenden Sie sich jetzt an die Veranstalter: Wer die andere Adresse liest, kann an Ihrer Stelle abstimmen.',
  },
  closing: {
    subject: (title) => `„${title}“ endet bald`,
    intro: (title, code, date) => `die Abstimmung „${title}“ (${code}) endet am ${date}.`,
    confirmable: 'Stimmen, die bis dahin abgegeben werden, können noch 15 Minuten lang bestätigt werden.',
    later: (call) => `Ein späteres Ende setzen Sie mit ${call} und „endsAt“, solange Stimmen angenommen werden.`,
  },
  notOpened: {
    subject: (title) => `„${title}“ wurde nicht eröffnet`,
    intro: (title, code, date) =>
      `die Abstimmung „${title}“ (${code}) sollte am ${date} beginnen und war nicht bereit. Sie ist wieder ein Entwurf.`,
    missing: 'Es fehlt noch:',
    opens: (call) => `Sie beginnt mit ${call} und „status“: „open“ oder mit einem neuen „startsAt“, nicht von selbst.`,
  },
  invite: {
    subject: (title) => `Sie sind zu „${title}“ eingeladen`,
    viewer: (title) =>
      `die Veranstalter einer Abstimmung, die sie „${title}“ nennen, teilen sie mit Ihnen: Sie dürfen alles darin ansehen.`,
    editor: (title) =>
      `die Veranstalter einer Abstimmung, die sie „${title}“ nennen, teilen sie mit Ihnen: Sie dürfen alles darin ansehen und ändern.`,
    token: 'Dies ist der Code Ihrer Einladung:',
    accept: 'Nehmen Sie sie mit einem beliebigen Organisationsschlüssel Ihres Kontos an:',
    validity:
      'Sie gilt sieben Tage, für das erste Konto, das sie annimmt. Sie kennen die Veranstalter nicht? Dann brauchen Sie nichts zu tun.',
  },
};
