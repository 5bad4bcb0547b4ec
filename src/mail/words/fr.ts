import type { MailWords } from './en.ts';

export const fr: MailWords = {
  hello: (name) => (name === null ? 'Bonjour,' : `Bonjour ${name},`),
  votingPage: 'Aller à la page de vote',
  opens: (date) => `Le vote commence le ${date}.`,
  closes: (date) => `Le vote se termine le ${date}.`,
  contact: (address) => `Des questions ? Adressez-vous aux organisateurs : ${address}`,
  rehearsal: 'Ceci est une répétition : les votes exprimés maintenant ne comptent pas et seront effacés.',
  options: { yes: 'Oui', no: 'Non', abstain: 'Abstention' },
  key: {
    subject: (title) => `Votre clé de vote pour « ${title} »`,
    intro: (title) => `voici votre clé de vote pour le scrutin que ses organisateurs appellent « ${title} » :`,
    use: 'Saisissez-la sur la page de vote, avec ou sans tirets. Elle est à vous seul : qui la possède peut voter en votre nom.',
    notAsked: 'Vous n’avez pas demandé de clé ? Alors vous n’avez rien à faire.',
  },
  letter: {
    intro: (title) => `voici votre clé de vote pour le scrutin « ${title} » :`,
    use: {
      voterId:
        'Saisissez les deux sur la page de vote : la clé de vote, avec ou sans tirets, et votre identifiant d’électeur. La clé est à vous seul : qui la possède peut voter en votre nom.',
      email:
        'Saisissez les deux sur la page de vote : la clé de vote, avec ou sans tirets, et votre adresse e-mail. La clé est à vous seul : qui la possède peut voter en votre nom.',
    },
    key: 'Votre clé de vote',
    voterId: (id) => `Identifiant d’électeur : ${id}`,
    email: (address) => `E-mail : ${address}`,
    scan: 'Scanner pour voter',
    page: (address) => `La page de vote : ${address}`,
    opened: 'Cette lettre vous est parvenue ouverte ? Adressez-vous aux organisateurs avant de voter.',
  },
  reminder: {
    subject: (title) => `Rappel : « ${title} »`,
    intro: (title) => `ceci est un rappel du scrutin que ses organisateurs appellent « ${title} ».`,
    key: 'Voici une clé de vote pour vous ; celles des messages précédents restent valables :',
    voted: 'Vous avez déjà voté ? Alors vous n’avez rien à faire.',
  },
  waiting: {
    intro: (title) => `une clé de vote a été demandée pour le scrutin que ses organisateurs appellent « ${title} ».`,
    pending:
      'Votre inscription attend encore l’accord des organisateurs. Redemandez une clé lorsqu’ils l’auront donné.',
    rejected:
      'Les organisateurs n’ont pas accepté votre inscription : il n’y a donc pas de clé pour vous. Veuillez vous adresser à eux.',
  },
  registration: {
    subject: (title) => `Votre inscription à « ${title} »`,
    intro: (title) => `quelqu’un a inscrit cette adresse au scrutin que ses organisateurs appellent « ${title} ».`,
    untilUsed: 'Veuillez confirmer votre adresse dans les sept jours ; sinon, l’inscription prend fin d’elle-même.',
    untilDecided: 'Veuillez confirmer votre adresse. Les organisateurs décident de votre inscription.',
    confirm: 'Confirmer l’adresse',
    notYou:
      'Cela confirme votre adresse et rien d’autre : aucun vote n’est émis. Ce n’était pas vous ? Alors vous n’avez rien à faire.',
  },
  addressChanged: {
    subject: (title) => `Votre adresse a été modifiée pour « ${title} »`,
    intro: (title) =>
      `les organisateurs ont modifié l’adresse électronique sous laquelle vous figurez dans un scrutin qu’ils appellent « ${title} ». Les clés de vote n’arrivent plus à cette adresse, et les précédentes ne sont plus valables.`,
    back: (title) =>
      `les organisateurs ont modifié l’adresse électronique sous laquelle vous figurez dans un scrutin qu’ils appellent « ${title} », puis l’ont rétablie. Les clés de vote envoyées entre-temps sont allées à l’autre adresse.`,
    warning:
      'Si vous ne l’avez pas demandé, adressez-vous tout de suite aux organisateurs : qui lit l’autre adresse peut voter à votre place.',
  },
  closing: {
    subject: (title) => `« ${title} » va bientôt se terminer`,
    intro: (title, code, date) => `le scrutin « ${title} » (${code}) se termine le ${date}.`,
    confirmable: 'Les votes exprimés d’ici là peuvent encore être confirmés pendant 15 minutes.',
    later: (call) => `Une fin plus tardive se fixe avec ${call} et « endsAt », tant que le scrutin accepte des votes.`,
  },
  notOpened: {
    subject: (title) => `« ${title} » ne s’est pas ouvert`,
    intro: (title, code, date) =>
      `le scrutin « ${title} » (${code}) devait s’ouvrir le ${date} et n’était pas prêt. Il est de nouveau un brouillon.`,
    missing: 'Il manque encore :',
    opens: (call) =>
      `Il s’ouvre avec ${call} et « status » : « open », ou avec un nouveau « startsAt », et non de lui-même.`,
  },
  invite: {
    subject: (title) => `Vous êtes invité à « ${title} »`,
    viewer: (title) =>
      `les organisateurs d’un scrutin qu’ils appellent « ${title} » le partagent avec vous : vous pouvez tout y consulter.`,
    editor: (title) =>
      `les organisateurs d’un scrutin qu’ils appellent « ${title} » le partagent avec vous : vous pouvez tout y consulter et modifier.`,
    token: 'Voici le code de votre invitation :',
    accept: 'Acceptez-la avec n’importe quelle clé d’organisateur de votre compte :',
    validity:
      'Elle est valable sept jours, pour le premier compte qui l’accepte. Vous ne connaissez pas les organisateurs ? Alors vous n’avez rien à faire.',
  },
};
