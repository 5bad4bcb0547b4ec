export const ANSWERS = [
  ...(['in', 'void', 'not_yet', 'not_there', 'no_promise', 'removed'] as const),
  // Answers about the log, if no ballot was asked about, or no answer about it was possible.
  ...(['yes', 'partial', 'no', 'unreadable'] as const),
] as const;
export type Answer = (typeof ANSWERS)[number];

/** The texts of the page for voters, in one language. The list of checks is for observers, and in English. */
export interface Words {
  /** By `data-say`: the texts of elements. */
  readonly page: Readonly<Record<PageText, string>>;
  readonly reading: string;
  /** Shown if a file contains no part of a receipt. */
  readonly noReceipt: string;
  /** A short answer, and a sentence. @param when the time, in words, at which `not_yet` will be over */
  readonly answers: Readonly<Record<Answer, readonly [string, string | ((when: string) => string)]>>;
  /** The value of `when` if no date is known. */
  readonly inADay: string;
}

type PageText =
  | 'title'
  | 'receipt'
  | 'receiptHint'
  | 'byHand'
  | 'event'
  | 'eventHint'
  | 'key'
  | 'keyHint'
  | 'code'
  | 'codeHint'
  | 'promise'
  | 'promiseHint'
  | 'check'
  | 'observers';

const en: Words = {
  page: {
    title: 'Is my ballot in?',
    receipt: 'Your receipt',
    receiptHint: 'Choose the file that you saved after voting, or drop it here. It stays in your browser.',
    byHand: 'Enter it by hand',
    event: 'Voting event',
    eventHint: 'Its ID (evt_…) or its code.',
    key: 'Key',
    keyHint: 'As the organizer gave it (vlk_…). Many events need none.',
    code: 'Confirmation code',
    codeHint: '26 letters and digits from your receipt. They stay in your browser.',
    promise: 'Promise',
    promiseHint: 'The signed text from your receipt: with it, a ballot that is missing is a proof.',
    check: 'Check',
    observers: 'For observers: every check',
  },
  reading: 'Reading the log of all ballots …',
  noReceipt: 'There is no receipt in this file.',
  answers: {
    in: ['Your ballot is in the log.', 'It was confirmed, and it stands in the log of all ballots.'],
    void: ['Your ballot is in the log, but does not count.', 'Its payment was given back, so it became void.'],
    not_yet: [
      'Not yet.',
      (when) =>
        `Ballots enter the log together with others. Look again after ${when}; if yours is not there then, check the code.`,
    ],
    not_there: [
      'Not there.',
      'No ballot in the log has this code. Check it letter by letter; a ballot of the last minute is not there yet.',
    ],
    no_promise: [
      'This is no whole promise.',
      'Copy it again from its first line to its last, and check that it is of this event.',
    ],
    removed: [
      'Your ballot is missing.',
      'The service promised that it would be in the log, and it is not. Keep your receipt, and show it to the organizer and to observers.',
    ],
    yes: ['Everything is right.', 'The ballots give the published result.'],
    partial: ['Right as far as it goes.', 'Some things cannot be checked yet, or not with this key.'],
    no: [
      'Something is wrong.',
      'The service signed or sent something that does not fit. Keep this page, and show it to the organizer and to observers.',
    ],
    unreadable: [
      'The log could not be read.',
      'Look at the event and the key. This says nothing for or against your ballot.',
    ],
  },
  inADay: 'a day',
};

const de: Words = {
  page: {
    title: 'Ist meine Stimme dabei?',
    receipt: 'Ihre Quittung',
    receiptHint:
      'Wählen Sie die Datei, die Sie nach der Abstimmung gespeichert haben, oder ziehen Sie sie hierher. Sie bleibt in Ihrem Browser.',
    byHand: 'Von Hand eingeben',
    event: 'Abstimmung',
    eventHint: 'Ihre Kennung (evt_…) oder ihr Code.',
    key: 'Schlüssel',
    keyHint: 'Wie Sie ihn vom Veranstalter haben (vlk_…). Oft ist keiner nötig.',
    code: 'Bestätigungscode',
    codeHint: '26 Buchstaben und Ziffern von Ihrer Quittung. Sie bleiben in Ihrem Browser.',
    promise: 'Zusage',
    promiseHint: 'Der signierte Text von Ihrer Quittung: Mit ihm ist eine fehlende Stimme ein Beweis.',
    check: 'Prüfen',
    observers: 'Für Beobachter: alle Prüfungen',
  },
  reading: 'Das Protokoll aller Stimmen wird gelesen …',
  noReceipt: 'In dieser Datei steht keine Quittung.',
  answers: {
    in: ['Ihre Stimme ist im Protokoll.', 'Sie wurde bestätigt und steht im Protokoll aller Stimmen.'],
    void: [
      'Ihre Stimme ist im Protokoll, zählt aber nicht.',
      'Ihre Zahlung wurde zurückgegeben, damit wurde sie ungültig.',
    ],
    not_yet: [
      'Noch nicht.',
      (when) =>
        `Stimmen kommen gemeinsam mit anderen ins Protokoll. Sehen Sie nach ${when} wieder nach; ist Ihre dann nicht da, prüfen Sie den Code.`,
    ],
    not_there: [
      'Nicht da.',
      'Keine Stimme im Protokoll hat diesen Code. Prüfen Sie ihn Zeichen für Zeichen; eine Stimme der letzten Minute ist noch nicht da.',
    ],
    no_promise: [
      'Das ist keine vollständige Zusage.',
      'Kopieren Sie sie noch einmal von der ersten bis zur letzten Zeile, und prüfen Sie, ob sie zu dieser Abstimmung gehört.',
    ],
    removed: [
      'Ihre Stimme fehlt.',
      'Der Dienst hat zugesagt, dass sie im Protokoll sein wird, und sie ist es nicht. Bewahren Sie Ihre Quittung auf, und zeigen Sie sie dem Veranstalter und Beobachtern.',
    ],
    yes: ['Alles stimmt.', 'Die Stimmen ergeben das veröffentlichte Ergebnis.'],
    partial: [
      'Richtig, soweit es sich prüfen lässt.',
      'Manches lässt sich noch nicht prüfen, oder nicht mit diesem Schlüssel.',
    ],
    no: [
      'Etwas stimmt nicht.',
      'Der Dienst hat etwas signiert oder gesendet, das nicht zusammenpasst. Bewahren Sie diese Seite auf, und zeigen Sie sie dem Veranstalter und Beobachtern.',
    ],
    unreadable: [
      'Das Protokoll ließ sich nicht lesen.',
      'Prüfen Sie Abstimmung und Schlüssel. Das sagt nichts für oder gegen Ihre Stimme.',
    ],
  },
  inADay: 'einem Tag',
};

const es: Words = {
  page: {
    title: '¿Está mi voto?',
    receipt: 'Su comprobante',
    receiptHint: 'Elija el archivo que guardó después de votar, o suéltelo aquí. No sale de su navegador.',
    byHand: 'Introducirlo a mano',
    event: 'Votación',
    eventHint: 'Su ID (evt_…) o su código.',
    key: 'Clave',
    keyHint: 'La que le dio el organizador (vlk_…). Muchas votaciones no la necesitan.',
    code: 'Código de confirmación',
    codeHint: '26 letras y cifras de su comprobante. No salen de su navegador.',
    promise: 'Promesa',
    promiseHint: 'El texto firmado de su comprobante: con él, un voto que falta es una prueba.',
    check: 'Comprobar',
    observers: 'Para observadores: todas las comprobaciones',
  },
  reading: 'Leyendo el registro de todos los votos …',
  noReceipt: 'En este archivo no hay ningún comprobante.',
  answers: {
    in: ['Su voto está en el registro.', 'Fue confirmado y figura en el registro de todos los votos.'],
    void: ['Su voto está en el registro, pero no cuenta.', 'Se devolvió su pago, y por eso quedó anulado.'],
    not_yet: [
      'Todavía no.',
      (when) =>
        `Los votos entran en el registro junto con otros. Vuelva a mirar después de ${when}; si el suyo no está entonces, revise el código.`,
    ],
    not_there: [
      'No está.',
      'Ningún voto del registro tiene este código. Revíselo letra por letra; un voto del último minuto aún no está.',
    ],
    no_promise: [
      'Esta promesa no está completa.',
      'Cópiela otra vez de la primera línea a la última, y compruebe que es de esta votación.',
    ],
    removed: [
      'Falta su voto.',
      'El servicio prometió que estaría en el registro, y no está. Guarde su comprobante y muéstrelo al organizador y a observadores.',
    ],
    yes: ['Todo está bien.', 'Los votos dan el resultado publicado.'],
    partial: [
      'Correcto hasta donde se puede comprobar.',
      'Algunas cosas aún no se pueden comprobar, o no con esta clave.',
    ],
    no: [
      'Algo está mal.',
      'El servicio firmó o envió algo que no concuerda. Guarde esta página y muéstrela al organizador y a observadores.',
    ],
    unreadable: [
      'No se pudo leer el registro.',
      'Revise la votación y la clave. Esto no dice nada a favor ni en contra de su voto.',
    ],
  },
  inADay: 'un día',
};

const fr: Words = {
  page: {
    title: 'Mon vote est-il bien là ?',
    receipt: 'Votre reçu',
    receiptHint:
      'Choisissez le fichier que vous avez enregistré après le vote, ou déposez-le ici. Il reste dans votre navigateur.',
    byHand: 'Saisir à la main',
    event: 'Scrutin',
    eventHint: 'Son ID (evt_…) ou son code.',
    key: 'Clé',
    keyHint: 'Celle que l’organisateur vous a donnée (vlk_…). Souvent, il n’en faut pas.',
    code: 'Code de confirmation',
    codeHint: '26 lettres et chiffres de votre reçu. Ils restent dans votre navigateur.',
    promise: 'Promesse',
    promiseHint: 'Le texte signé de votre reçu : avec lui, un vote qui manque est une preuve.',
    check: 'Vérifier',
    observers: 'Pour les observateurs : toutes les vérifications',
  },
  reading: 'Lecture du registre de tous les votes …',
  noReceipt: 'Ce fichier ne contient pas de reçu.',
  answers: {
    in: ['Votre vote est dans le registre.', 'Il a été confirmé et figure dans le registre de tous les votes.'],
    void: ['Votre vote est dans le registre, mais ne compte pas.', 'Son paiement a été remboursé, il est donc nul.'],
    not_yet: [
      'Pas encore.',
      (when) =>
        `Les votes entrent dans le registre avec d’autres. Regardez de nouveau après ${when} ; si le vôtre n’y est pas alors, vérifiez le code.`,
    ],
    not_there: [
      'Il n’y est pas.',
      'Aucun vote du registre ne porte ce code. Vérifiez-le lettre par lettre ; un vote de la dernière minute n’y est pas encore.',
    ],
    no_promise: [
      'Cette promesse n’est pas entière.',
      'Copiez-la de nouveau de la première à la dernière ligne, et vérifiez qu’elle est de ce scrutin.',
    ],
    removed: [
      'Votre vote manque.',
      'Le service a promis qu’il serait dans le registre, et il n’y est pas. Gardez votre reçu, et montrez-le à l’organisateur et à des observateurs.',
    ],
    yes: ['Tout est juste.', 'Les votes donnent le résultat publié.'],
    partial: [
      'Juste, pour autant qu’on puisse le vérifier.',
      'Certaines choses ne se vérifient pas encore, ou pas avec cette clé.',
    ],
    no: [
      'Quelque chose ne va pas.',
      'Le service a signé ou envoyé quelque chose qui ne concorde pas. Gardez cette page, et montrez-la à l’organisateur et à des observateurs.',
    ],
    unreadable: [
      'Le registre n’a pas pu être lu.',
      'Vérifiez le scrutin et la clé. Cela ne dit rien pour ou contre votre vote.',
    ],
  },
  inADay: 'un jour',
};

const WORDS: Readonly<Record<string, Words>> = { en, de, es, fr };

/** The language of the page: the first wanted language that it has, otherwise English. */
export const languageOf = (wanted: readonly (string | undefined)[]): string =>
  wanted.map((tag) => tag?.slice(0, 2).toLowerCase() ?? '').find((tag) => Object.hasOwn(WORDS, tag)) ?? 'en';

export const wordsOf = (language: string): Words => WORDS[language] ?? en;
