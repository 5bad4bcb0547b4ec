import { formatsOf } from '../exact-figures.ts';
import type { ReportWords } from './en.ts';

const formats = formatsOf('fr');
const { digits } = formats;
/** French uses the singular for any number below 2, including 0. */
const count = (figure: number, one: string, many: string): string => `${digits(figure)} ${figure < 2 ? one : many}`;

export const fr: ReportWords = {
  ...formats,
  more: (names, others) => `${names} et ${digits(others)} de plus`,
  yes: 'Oui',
  no: 'Non',
  abstain: 'Abstention',
  noAnswer: 'Sans réponse',
  methods: {
    plurality: 'Majorité relative',
    approval: 'Vote par approbation',
    referendum: 'Référendum',
    score: 'Vote par notation',
    cumulative: 'Vote cumulatif',
    quadratic: 'Vote quadratique',
    instantRunoff: 'Vote préférentiel (second tour instantané)',
    transferable: 'Vote préférentiel (vote unique transférable)',
  },
  fraction: ({ inclusive, numerator, denominator }) =>
    `${inclusive ? 'au moins' : 'plus de'} ${numerator}/${denominator}`,
  selections: (least, most) =>
    least === most
      ? `exactement ${count(least, 'candidature', 'candidatures')}`
      : `de ${digits(least)} à ${count(most, 'candidature', 'candidatures')}`,
  rules: {
    title: 'Règles appliquées',
    plurality: (marks) => `Sur chaque bulletin, on choisit ${marks}. Le plus grand nombre de voix l’emporte.`,
    approval: (marks) => `Sur chaque bulletin, on approuve ${marks}. Le plus grand nombre d’approbations l’emporte.`,
    referendum: 'Sur chaque bulletin, on coche une réponse. Les abstentions et les bulletins blancs ne comptent pas.',
    score: (marks, least, most) =>
      `Sur chaque bulletin, on note ${marks} de ${digits(least)} à ${digits(most)}, en nombres entiers. La somme la plus élevée l’emporte.`,
    cumulative: (marks, points) =>
      `Sur chaque bulletin, on répartit un maximum de ${count(points, 'point', 'points')} sur ${marks}. Le plus grand total l’emporte.`,
    quadratic: (credits, sold) =>
      `Chaque bulletin dispose de ${count(credits, 'crédit', 'crédits')}${sold ? ' et de ceux achetés' : ''} ; les voix pour une candidature coûtent leur carré. Le plus grand nombre de voix l’emporte.`,
    instantRunoff: (marks) =>
      `Sur chaque bulletin, on classe ${marks}. À chaque tour, la candidature qui a le moins de voix est éliminée et ses bulletins passent à leur choix suivant, jusqu’à ce que l’une ait plus de la moitié des voix actives ou qu’il en reste deux.`,
    transferable: (marks) =>
      `Sur chaque bulletin, on classe ${marks}. Le nombre de voix valables est divisé par le nombre de sièges plus 1. Lorsque chaque poids est 1, le quotient à atteindre est la partie entière du résultat, plus 1 ; sinon il faut dépasser ce résultat. Un excédent passe en proportion (Gregory inclusif pondéré, coupé à cinq décimales) ; si aucune candidature n’atteint le quotient, la dernière est éliminée.`,
    bases: { yes_no: 'oui et non', answers: 'oui, non et abstentions', electorate: 'l’électorat' },
    passes: (share, base) => `Le oui l’emporte avec ${share} (base : ${base}).`,
    turnoutQuorum: (share) => `Quorum : ${share} de l’électorat participe.`,
    approvalQuorum: (share) => `Quorum : ${share} de l’électorat vote oui.`,
    seats: (seats) => (seats === 1 ? 'Un siège.' : `${digits(seats)} sièges.`),
    ties: {
      joint: 'Une égalité pour un siège est déclarée conjointe : toutes les candidatures à égalité sont élues.',
      lot: 'Une égalité pour un siège est tranchée par tirage au sort : le plus petit SHA-256(graine, racine du journal avant la clôture, identifiant de la candidature) passe en premier. L’empreinte de la graine a été publiée à l’ouverture ; la graine est révélée quand le résultat est définitif.',
      candidate_order: 'Une égalité pour un siège est tranchée par l’ordre des candidatures.',
    },
    eliminationByOrder:
      'Une égalité pour l’élimination est tranchée par le dernier tour précédent où les candidatures à égalité diffèrent, puis par l’ordre des candidatures.',
    eliminationByLot:
      'Une égalité pour l’élimination est tranchée par le dernier tour précédent où les candidatures à égalité diffèrent, puis par tirage au sort.',
    majority: (numerator, denominator) =>
      `Pour être élu, il faut plus de ${numerator}/${denominator} des bulletins qui ont répondu.`,
    group: (name) => `Réservé au groupe ${name}.`,
  },
  ties: {
    joint: (names) => `Égalité pour le dernier siège : ${names}. Déclarée conjointe.`,
    undrawn: (names) => `Égalité : ${names}. Le tirage au sort est à venir.`,
    lot: (names, seed) => `Égalité : ${names}. Tranchée par tirage au sort, graine ${seed}.`,
    candidate_order: (names) => `Égalité : ${names}. Tranchée par l’ordre des candidatures.`,
    earlier_round: (names) => `Égalité : ${names}. Tranchée par un tour précédent.`,
  },
  runnerUp: (name) => `Suivant au classement : ${name}.`,
  tieMargin: 'Il y a eu égalité : une voix aurait suffi à trancher.',
  margin: (votes, bound) => {
    const about = bound === null ? '' : bound === 'lower' ? 'au moins ' : 'au plus ';
    return `Avec ${about}${digits(votes)} voix ${votes === '1' ? 'changée' : 'changées'}, le résultat aurait été autre.`;
  },
  outcome: {
    elected: 'Élu(e)',
    won: 'Gagne',
    leading: 'En tête',
    of: (won, names) => `${won} : ${names}`,
    jointly: (won) => `${won} (conjointement)`,
    afterTie: (won) => `${won} (égalité)`,
    tied: 'Égalité',
    lostTie: 'Perd l’égalité',
    withdrawn: 'Retirée',
    passed: 'Adopté',
    rejected: 'Rejeté',
    no_quorum: 'Quorum manqué',
    asOfNow: (outcome) => `${outcome} à ce stade`,
    unanswered: 'Aucun bulletin n’a répondu à ce scrutin.',
    vacant: 'Aucun siège n’est pourvu.',
  },
  position: {
    seats: (seats) => count(seats, 'siège', 'sièges'),
    ballots: (ballots) => count(ballots, 'bulletin', 'bulletins'),
    abstentions: (abstentions) => count(abstentions, 'abstention', 'abstentions'),
    rule: 'Règle',
    required: 'Exigé',
    actual: 'Atteint',
    met: 'Rempli',
    threshold: 'Part du oui',
    turnout_quorum: 'Participation de l’électorat',
    approval_quorum: 'Oui de l’électorat',
    actualShare: (part, whole, share) => `${part} sur ${whole} (${share})`,
    needed: (share, base) => `requis : ${share} (base : ${base})`,
    candidate: 'Candidature',
    option: 'Réponse',
    outcome: 'Résultat',
    votes: 'Voix',
    approvals: 'Approbations',
    score: 'Note',
    points: 'Points',
    finalVotes: 'Voix à la fin',
    firstChoices: 'Premiers choix',
    heads: (title) => `${title} (têtes)`,
    weighted: 'Pondéré',
    share: 'Part',
    ofBallots: 'Des bulletins',
    mean: 'Moyenne',
    withoutVotes: (names) => `Sans aucune voix : ${names}.`,
    withoutPoints: (names) => `Avec la note 0 : ${names}.`,
    moreInExports: (others) =>
      `${count(others, 'autre candidature figure', 'autres candidatures figurent')} dans les fichiers CSV et JSON.`,
  },
  charts: {
    bars: (unit, bars) => `Diagramme à barres (${unit}) : ${bars}.`,
    moreBars: (others) => `et ${digits(others)} de plus dans le tableau ci-dessous`,
    shares: (shares, needed) => `Barre des parts : ${shares} ; ${needed}.`,
    flow: (first, last) =>
      `Parcours des voix du tour ${first} au tour ${last} ; les tableaux donnent tous les chiffres.`,
    drawn: (first, last, all) =>
      `Dessin : tours ${first} à ${last} sur ${all}. Le tableau des tours les contient tous.`,
  },
  rounds: {
    title: (rounds) => (rounds === 1 ? 'Un tour' : `${digits(rounds)} tours`),
    omitted: 'Les tours sont trop nombreux pour ce rapport ; l’interface de programmation les donne par pages.',
    legend: 'Chiffres du tableau : en vert, élection à ce tour ; en rouge, élimination après celui-ci.',
    round: 'Tour',
    numbered: (round) => `Tour ${round}`,
    others: 'Toutes les autres',
    withoutVotes: (candidates) => `${digits(candidates)} sans voix`,
    exhausted: 'Épuisées',
    lost: 'Reste d’arrondi',
    needed: 'Requis',
    decision: 'Décision',
    passOn: 'Report des voix',
    transfers: (from, targets) => `De ${from} : ${targets}.`,
    toNobody: (votes) => `épuisées ${votes}`,
    elected: (names) => `Élu(e) : ${names}`,
    out: (names) => `Élimination : ${names}`,
    tied: 'Égalité',
    provisional: 'Provisoire : le tirage au sort est à venir.',
  },
  cover: {
    title: 'Rapport de résultats',
    documentTitle: (event) => `${event} – résultats`,
    subject: (code, standing) => `Résultats de ${code}, ${standing}`,
    final: 'définitif',
    provisional: 'provisoire',
    rehearsed: 'répétition',
    disputed: 'contesté',
    event: 'Consultation',
    election: 'Élection',
    poll: 'Sondage',
    opened: 'Ouverture',
    closed: 'Clôture',
    closes: 'Clôture prévue',
    counted: 'Dépouillement',
    timeZone: 'Fuseau horaire',
    secrecy: 'Secret du vote',
    secret: 'Secret : aucune donnée enregistrée ne relie une personne à son bulletin',
    pseudonymous: 'Pseudonyme : les bulletins portent l’identifiant visible de la personne',
    identified: 'Identifiable : les bulletins payés peuvent être reliés à un paiement',
    weightTurnout: 'Participation en poids',
    ballots: 'bulletins dépouillés',
    voters: 'personnes inscrites',
    turnout: 'participation',
    positions: (positions) => (positions === 1 ? 'scrutin' : 'scrutins'),
    closedProvisional:
      'Provisoire : les bulletins remis avant la clôture peuvent encore être confirmés pendant quinze minutes.',
    openProvisional: 'Provisoire : le vote est ouvert et ces chiffres vont changer.',
    unopened: 'Provisoire : le vote n’est pas encore ouvert.',
    reversed: (ballots) =>
      `Après le résultat définitif, des paiements ont été annulés : ${digits(ballots)} des bulletins comptés ici sont devenus nuls. Les chiffres du résultat restent ceux de la clôture.`,
    disputedWarning:
      'Contesté : les bulletins ou leur journal ne sont pas ce qui a été signé. Ne vous fiez pas à ces chiffres tant que le responsable du service ne l’a pas réparé.',
    rehearsal: 'Répétition : ces voix ne comptent pas et vont être effacées.',
    empty: 'Il n’y a encore aucun scrutin.',
    summary: 'Résumé',
    position: 'Scrutin',
    method: 'Méthode',
    outcome: 'Résultat',
    foot: (standing, date) => `${standing}, dépouillement : ${date}`,
    page: (page, pages) => `Page ${page} sur ${pages}`,
  },
  groups: {
    title: 'Participation par groupe',
    group: 'Groupe',
    voters: 'Inscrits',
    voted: 'Votants',
    turnout: 'Participation',
    others: 'Tous les autres',
    note: 'Les groupes figurent à partir de cinq personnes ; les plus petits et les personnes sans groupe sont réunis, avec le plus petit groupe s’ils sont moins de cinq.',
  },
  log: {
    title: 'Journal des bulletins et vérification',
    intro:
      'Chaque bulletin confirmé est scellé dans un journal de Merkle qui ne peut que croître (empreintes selon RFC 6962). La taille et la racine valent pour tout son contenu : un bulletin changé ou retiré donnerait une autre racine.',
    what: 'Élément',
    value: 'Valeur',
    size: 'Taille du journal',
    leaves: (leaves) => count(leaves, 'feuille', 'feuilles'),
    rootHash: 'Racine (Base64)',
    seedHash: 'Tirage, SHA-256 de la graine',
    seedHashLater: 'publiée à l’ouverture',
    seed: 'Tirage, graine',
    seedLater: 'révélée quand le résultat est définitif',
    root: 'Tirage, racine avant la clôture',
    eventId: 'Identifiant',
    verify: 'Comment vérifier',
    inBrowser: (page) =>
      `1. Dans un navigateur : ouvrez ${page}. La page lit et vérifie tout le journal ; avec un code de confirmation elle trouve ce bulletin. Avec une clé d’observation elle recompte aussi les bulletins ouverts et les compare à ce rapport.`,
    onMachine: (file, command) =>
      `2. Sur votre propre ordinateur : ${file} est le même programme en un seul fichier : ${command}`,
    byHand: (checkpoint, key) =>
      `3. À la main : lisez le point de contrôle signé sous ${checkpoint} et vérifiez sa signature avec la clé sous ${key}. Une fois tous les bulletins scellés, la taille et la racine sont celles ci-dessus ou une extension ultérieure.`,
    forPrograms:
      '4. CSV, JSON et les relevés de votes (NIST SP 1500-103) contiennent les mêmes chiffres pour les programmes.',
  },
  declaration: {
    title: 'Déclaration',
    text: (event) => `Je déclare le résultat de « ${event} » tel qu’il figure dans ce rapport.`,
    name: 'Nom et fonction',
    signature: 'Signature',
    date: 'Lieu et date',
  },
};
