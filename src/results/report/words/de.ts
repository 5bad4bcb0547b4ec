import { formatsOf } from '../exact-figures.ts';
import type { ReportWords } from './en.ts';

const formats = formatsOf('de');
const { digits } = formats;
const count = (figure: number, one: string, many: string): string => `${digits(figure)} ${figure === 1 ? one : many}`;

const ONE = `genau ${count(1, 'Kandidatur', 'Kandidaturen')}`;
const are = (marks: string): string => (marks === ONE ? 'wird' : 'werden');

export const de: ReportWords = {
  ...formats,
  more: (names, others) => `${names} und ${digits(others)} weitere`,
  yes: 'Ja',
  no: 'Nein',
  abstain: 'Enthaltung',
  noAnswer: 'Keine Antwort',
  methods: {
    plurality: 'Mehrheitswahl',
    approval: 'Zustimmungswahl',
    referendum: 'Sachabstimmung',
    score: 'Bewertungswahl',
    cumulative: 'Kumulative Wahl',
    quadratic: 'Quadratische Wahl',
    instantRunoff: 'Rangfolgewahl (integrierte Stichwahl)',
    transferable: 'Rangfolgewahl (übertragbare Einzelstimmgebung)',
  },
  fraction: ({ inclusive, numerator, denominator }) =>
    `${inclusive ? 'mindestens' : 'mehr als'} ${numerator}/${denominator}`,
  selections: (least, most) =>
    least === most
      ? `genau ${count(least, 'Kandidatur', 'Kandidaturen')}`
      : `${digits(least)} bis ${count(most, 'Kandidatur', 'Kandidaturen')}`,
  rules: {
    title: 'Angewandte Regeln',
    plurality: (marks) =>
      `Auf jedem Stimmzettel ${are(marks)} ${marks} gewählt. Es gewinnt, wer die meisten Stimmen erhält.`,
    approval: (marks) =>
      `Auf jedem Stimmzettel wird ${marks} zugestimmt. Es gewinnt, wer die meisten Zustimmungen erhält.`,
    referendum:
      'Auf jedem Stimmzettel wird eine Antwort angekreuzt. Enthaltungen und leere Stimmzettel zählen nicht als Stimmen.',
    score: (marks, least, most) =>
      `Auf jedem Stimmzettel ${are(marks)} ${marks} mit ganzen Zahlen von ${digits(least)} bis ${digits(most)} bewertet. Es gewinnt die höchste Summe.`,
    cumulative: (marks, points) =>
      `Auf jedem Stimmzettel werden bis zu ${digits(points)} Punkte auf ${marks} verteilt. Es gewinnt, wer die meisten Punkte erhält.`,
    quadratic: (credits, sold) =>
      `Für jeden Stimmzettel gibt es ${digits(credits)} Guthabenpunkte${sold ? ' und die dazugekauften' : ''}; n Stimmen für eine Kandidatur kosten n × n Punkte. Es gewinnt, wer die meisten Stimmen erhält.`,
    instantRunoff: (marks) =>
      `Auf jedem Stimmzettel ${are(marks)} ${marks} nach Rang geordnet. In jeder Runde scheidet die Kandidatur mit den wenigsten Stimmen aus, und ihre Stimmzettel gehen an die jeweils nächste Kandidatur ihrer Rangfolge über, bis eine mehr als die Hälfte der noch zählenden Stimmen hat oder nur noch zwei übrig sind.`,
    transferable: (marks) =>
      `Auf jedem Stimmzettel ${are(marks)} ${marks} nach Rang geordnet. Geteilt wird die Zahl der gültigen Stimmen durch die Zahl der Sitze plus 1. Hat jeder Stimmzettel das Gewicht 1, ist die Quote das abgerundete Ergebnis plus 1; sonst ist gewählt, wer mehr Stimmen hat als dieses Ergebnis. Ein Überschuss geht anteilig über (gewichtetes inklusives Gregory-Verfahren, nach fünf Dezimalstellen abgeschnitten); erreicht niemand die Quote, scheidet die Kandidatur mit den wenigsten Stimmen aus.`,
    bases: {
      yes_no: 'der Ja- und Neinstimmen',
      answers: 'der Ja- und Neinstimmen und Enthaltungen',
      electorate: 'aller Wahlberechtigten',
    },
    passes: (share, base) => `Angenommen, wenn die Jastimmen ${share} ${base} ausmachen.`,
    turnoutQuorum: (share) => `Quorum: Beteiligung von ${share} der Wahlberechtigten.`,
    approvalQuorum: (share) => `Quorum: Jastimmen von ${share} der Wahlberechtigten.`,
    seats: (seats) => (seats === 1 ? 'Ein Sitz.' : `${digits(seats)} Sitze.`),
    ties: {
      joint: 'Bei Stimmengleichheit um einen Sitz gelten alle Gleichstehenden gemeinsam als gewählt.',
      lot: 'Bei Stimmengleichheit um einen Sitz entscheidet das Los: der kleinere Wert SHA-256(Startwert, Wurzel des Protokolls vor dem Schluss, Kennung der Kandidatur) geht vor. Der Hashwert des Startwerts wurde bei der Eröffnung veröffentlicht; der Startwert wird offengelegt, sobald das Ergebnis endgültig ist.',
      candidate_order:
        'Bei Stimmengleichheit um einen Sitz geht vor, wer in der Reihenfolge der Kandidaturen zuerst steht.',
    },
    eliminationByOrder:
      'Bei Stimmengleichheit beim Ausscheiden entscheidet die letzte frühere Runde, in der sich die Gleichstehenden unterscheiden, danach die Reihenfolge der Kandidaturen.',
    eliminationByLot:
      'Bei Stimmengleichheit beim Ausscheiden entscheidet die letzte frühere Runde, in der sich die Gleichstehenden unterscheiden, danach das Los.',
    majority: (numerator, denominator) =>
      `Gewählt ist nur, wer mehr als ${numerator}/${denominator} der Stimmzettel mit einer Antwort auf sich vereint.`,
    group: (name) => `Nur für die Gruppe ${name}.`,
  },
  ties: {
    joint: (names) => `Stimmengleichheit um den letzten Sitz: ${names}. Sie gelten gemeinsam als gewählt.`,
    undrawn: (names) => `Stimmengleichheit: ${names}. Das Los ist noch nicht gezogen.`,
    lot: (names, seed) => `Stimmengleichheit: ${names}. Entschieden durch das Los, Startwert ${seed}.`,
    candidate_order: (names) => `Stimmengleichheit: ${names}. Entschieden durch die Reihenfolge der Kandidaturen.`,
    earlier_round: (names) => `Stimmengleichheit: ${names}. Entschieden durch eine frühere Runde.`,
  },
  runnerUp: (name) => `Nächstplatziert: ${name}.`,
  tieMargin: 'Es herrschte Stimmengleichheit: Eine Stimme hätte entschieden.',
  margin: (votes, bound) => {
    const about = bound === null ? '' : bound === 'lower' ? 'mindestens ' : 'höchstens ';
    return `Mit ${about}${digits(votes)} geänderten ${votes === '1' ? 'Stimme' : 'Stimmen'} wäre die Wahl anders ausgegangen.`;
  },
  outcome: {
    elected: 'Gewählt',
    won: 'Gewonnen',
    leading: 'In Führung',
    of: (won, names) => `${won}: ${names}`,
    jointly: (won) => `${won} (gemeinsam)`,
    afterTie: (won) => `${won} (Gleichstand)`,
    tied: 'Stimmengleichheit',
    lostTie: 'Bei Gleichstand unterlegen',
    withdrawn: 'Zurückgezogen',
    passed: 'Angenommen',
    rejected: 'Abgelehnt',
    no_quorum: 'Quorum verfehlt',
    asOfNow: (outcome) => `${outcome} (Zwischenstand)`,
    unanswered: 'Kein Stimmzettel enthält hierzu eine Antwort.',
    vacant: 'Kein Sitz wurde vergeben.',
  },
  position: {
    seats: (seats) => count(seats, 'Sitz', 'Sitze'),
    ballots: (ballots) => `${digits(ballots)} Stimmzettel`,
    abstentions: (abstentions) => count(abstentions, 'Enthaltung', 'Enthaltungen'),
    rule: 'Regel',
    required: 'Verlangt',
    actual: 'Erreicht',
    met: 'Erfüllt',
    threshold: 'Anteil der Jastimmen',
    turnout_quorum: 'Beteiligung der Wahlberechtigten',
    approval_quorum: 'Jastimmen der Wahlberechtigten',
    actualShare: (part, whole, share) => `${part} von ${whole} (${share})`,
    needed: (share, base) => `erforderlich: ${share} ${base}`,
    candidate: 'Kandidatur',
    option: 'Antwort',
    outcome: 'Ergebnis',
    votes: 'Stimmen',
    approvals: 'Zustimmungen',
    score: 'Bewertung',
    points: 'Punkte',
    finalVotes: 'Stimmen zuletzt',
    firstChoices: 'Erste Wahl',
    heads: (title) => `${title} (Köpfe)`,
    weighted: 'Gewichtet',
    share: 'Anteil',
    ofBallots: 'Anteil der Stimmzettel',
    mean: 'Mittelwert',
    withoutVotes: (names) => `Ohne Stimmen: ${names}.`,
    withoutPoints: (names) => `Mit der Bewertung 0: ${names}.`,
    moreInExports: (others) => `${digits(others)} weitere Kandidaturen stehen in den CSV- und JSON-Dateien.`,
  },
  charts: {
    bars: (unit, bars) => `Balkendiagramm (${unit}): ${bars}.`,
    moreBars: (others) => `und ${digits(others)} weitere in der Tabelle darunter`,
    shares: (shares, needed) => `Balken der Anteile: ${shares}; ${needed}.`,
    flow: (first, last) => `Weg der Stimmen von Runde ${first} bis Runde ${last}; alle Zahlen stehen in den Tabellen.`,
    drawn: (first, last, all) =>
      `Dargestellt: Runden ${first} bis ${last} von ${all}. Die Tabelle der Runden enthält alle.`,
  },
  rounds: {
    title: (rounds) => (rounds === 1 ? 'Eine Runde' : `${digits(rounds)} Runden`),
    omitted: 'Die Runden sind zu zahlreich für diesen Bericht; die Programmierschnittstelle liefert sie seitenweise.',
    legend: 'Zahlen in der Tabelle: Grün heißt in dieser Runde gewählt, Rot nach dieser Runde ausgeschieden.',
    round: 'Runde',
    numbered: (round) => `Runde ${round}`,
    others: 'Alle übrigen',
    withoutVotes: (candidates) => `${digits(candidates)} ohne Stimme`,
    exhausted: 'Nicht übertragbar',
    lost: 'Rundungsrest',
    needed: 'Erforderlich',
    decision: 'Entscheidung',
    passOn: 'Übertragung der Stimmen',
    transfers: (from, targets) => `Von ${from}: ${targets}.`,
    toNobody: (votes) => `nicht übertragbar ${votes}`,
    elected: (names) => `Gewählt: ${names}`,
    out: (names) => `Ausgeschieden: ${names}`,
    tied: 'Stimmengleichheit',
    provisional: 'Vorläufig: Das Los ist noch nicht gezogen.',
  },
  cover: {
    title: 'Ergebnisbericht',
    documentTitle: (event) => `${event} – Ergebnisse`,
    subject: (code, standing) => `Ergebnisse von ${code}, ${standing}`,
    final: 'endgültig',
    provisional: 'vorläufig',
    rehearsed: 'Probe',
    disputed: 'strittig',
    event: 'Veranstaltung',
    election: 'Wahl',
    poll: 'Umfrage',
    opened: 'Eröffnet',
    closed: 'Geschlossen',
    closes: 'Endet',
    counted: 'Ausgezählt',
    timeZone: 'Zeitzone',
    secrecy: 'Wahlgeheimnis',
    secret: 'Geheim: Es ist nirgends gespeichert, wer wie abgestimmt hat',
    pseudonymous: 'Pseudonym: Auf den Stimmzetteln ist die Wählernummer sichtbar',
    identified: 'Zuordenbar: Bezahlte Stimmzettel lassen sich einer Zahlung zuordnen',
    weightTurnout: 'Beteiligung nach Gewicht',
    ballots: 'ausgezählte Stimmzettel',
    voters: 'Wahlberechtigte',
    turnout: 'Beteiligung',
    positions: (positions) => (positions === 1 ? 'Wahlgang' : 'Wahlgänge'),
    closedProvisional:
      'Vorläufig: Vor dem Schluss abgegebene Stimmzettel können noch fünfzehn Minuten danach bestätigt werden.',
    openProvisional: 'Vorläufig: Die Abstimmung läuft, und diese Zahlen ändern sich noch.',
    unopened: 'Vorläufig: Die Abstimmung ist noch nicht eröffnet.',
    reversed: (ballots) =>
      `Nach dem endgültigen Ergebnis wurden Zahlungen zurückgebucht: ${digits(ballots)} der hier gezählten Stimmzettel wurden ungültig. Die Zahlen des Ergebnisses bleiben auf dem Stand beim Schluss der Abstimmung.`,
    disputedWarning:
      'Strittig: Die Stimmzettel oder ihr Protokoll weichen von dem ab, was signiert wurde. Verlassen Sie sich nicht auf diese Zahlen, bis der Betreiber des Dienstes den Fehler behoben hat.',
    rehearsal: 'Probe: Diese Stimmen zählen nicht und werden gelöscht.',
    empty: 'Hier gibt es noch keine Wahlgänge.',
    summary: 'Übersicht',
    position: 'Wahlgang',
    method: 'Verfahren',
    outcome: 'Ergebnis',
    foot: (standing, date) => `${standing}, ausgezählt ${date}`,
    page: (page, pages) => `Seite ${page} von ${pages}`,
  },
  groups: {
    title: 'Beteiligung nach Gruppen',
    group: 'Gruppe',
    voters: 'Wahlberechtigte',
    voted: 'Abgestimmt',
    turnout: 'Beteiligung',
    others: 'Alle übrigen',
    note: 'Gruppen unter fünf Wahlberechtigten und Wahlberechtigte ohne Gruppe stehen unter „Alle übrigen“, mit der kleinsten Gruppe, wenn sie weniger als fünf sind.',
  },
  log: {
    title: 'Stimmzettelprotokoll und Prüfung',
    intro:
      'Jeder bestätigte Stimmzettel wird in einem Merkle-Protokoll versiegelt, das nur wachsen kann (Hashwerte nach RFC 6962). Größe und Wurzel stehen für seinen ganzen Inhalt: Ein geänderter oder entfernter Stimmzettel ergäbe eine andere Wurzel.',
    what: 'Angabe',
    value: 'Wert',
    size: 'Größe des Protokolls',
    leaves: (leaves) => count(leaves, 'Eintrag', 'Einträge'),
    rootHash: 'Wurzel (Base64)',
    seedHash: 'Los, SHA-256 des Startwerts',
    seedHashLater: 'wird bei der Eröffnung veröffentlicht',
    seed: 'Los, Startwert',
    seedLater: 'wird offengelegt, sobald das Ergebnis endgültig ist',
    root: 'Los, Wurzel vor dem Schluss',
    eventId: 'Kennung',
    verify: 'So wird geprüft',
    inBrowser: (page) =>
      `1. Im Webbrowser: Öffnen Sie ${page}. Die Seite liest und prüft das ganze Protokoll; mit einem Bestätigungscode findet sie diesen Stimmzettel. Mit einem Beobachtungsschlüssel zählt sie auch die geöffneten Stimmzettel nach und vergleicht sie mit diesem Bericht.`,
    onMachine: (file, command) =>
      `2. Auf einem eigenen Rechner: ${file} ist dasselbe Programm in einer Datei: ${command}`,
    byHand: (checkpoint, key) =>
      `3. Von Hand: Lesen Sie den signierten Prüfpunkt unter ${checkpoint} und prüfen Sie seine Signatur mit dem Schlüssel unter ${key}. Sind alle Stimmzettel versiegelt, so stimmen Größe und Wurzel mit den obigen überein oder setzen sie später fort.`,
    forPrograms:
      '4. CSV, JSON und die maschinenlesbaren Stimmzettel (NIST SP 1500-103) enthalten dieselben Zahlen für Programme.',
  },
  declaration: {
    title: 'Feststellung des Ergebnisses',
    text: (event) => `Ich stelle das Ergebnis von „${event}“ so fest, wie es in diesem Bericht steht.`,
    name: 'Vor- und Nachname, Amt',
    signature: 'Unterschrift',
    date: 'Ort und Datum',
  },
};
