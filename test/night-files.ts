/**
 * The files of tests that `npm run test:night` runs and `npm test` leaves out, by what they protect. Each of them takes half a minute or
 * more on two cores, or needs a machine of its own; together they take two thirds of the time of all tests. Behind each heading stands
 * what is checked of it with every change: files that `npm test` runs, and the minutes of the model and of chaos in `.ci/run`.
 */
const BY_SUBJECT: Readonly<Record<string, readonly string[]>> = {
  // Kills, fail-overs and clocks: the minute of chaos, faults/proxies, faults/silent-database and faults/one-clock.
  'processes and machines that fail': [
    'faults/clock-drift',
    'faults/commands',
    'faults/database-clock',
    'faults/embedded-database',
    'faults/fail-over',
    'faults/import-voters',
    'faults/read-copy',
    'faults/restarts',
    'faults/service-process',
    'faults/start-checks',
    'faults/updates',
    'faults/migrations',
  ],
  // Jobs and mails: the minute of chaos, faults/loop-watch, faults/webhook-sending, api/voter-mails and api/event-mails.
  'jobs, mails and messages under faults': [
    'api/letters',
    'api/webhooks',
    'faults/claims',
    'faults/job-processes',
    'faults/job-runner',
    'faults/mail-jobs',
    'faults/notify',
    'faults/webhook-worker',
  ],
  // Keys and copies: faults/ballot-keys, secrecy/stolen-files.
  'keys, backups and memory': [
    'faults/backup',
    'faults/key-backups',
    'faults/key-places',
    'faults/key-rotation',
    'faults/restore',
    'secrecy/destroyed-key',
    'secrecy/measured',
  ],
  // Several databases: faults/cells, faults/cells-payments.
  'commands and moves between several databases': [
    'faults/cell-commands',
    'faults/cells-beside-moves',
    'faults/cells-cut-moves',
    'faults/cells-refused-moves',
  ],
  // Payments: api/payments, api/paid-for, api/payments-end, api/refunds, api/reversals, races/checkout-beside-change, the model's minute.
  'payments over a year, in corners and in races': [
    'api/business-keys',
    'api/payments-check',
    'api/payments-corners',
    'api/provider-health',
    'money/kills',
    'money/year',
    'races/payments',
  ],
  // The log under attack: tamper/forged-figures, -roll, -voids and -candidates, tamper/signed-head, unit/verifier/tampering.
  'an attacker with the database': [
    'api/changes-before-leaves',
    'api/verify-log',
    'api/verify-witnesses',
    'tamper/forged-close',
    'tamper/forged-invites',
    'tamper/forged-rows',
    'tamper/public-snapshot',
    'tamper/running-service',
    'unit/verifier/hostile-service',
  ],
  // Sizes and floods: api/shedding, api/admission, api/hot-statements, api/long-lists, api/rows-read.
  'large events, floods and clients that hang': [
    'api/bounded-seal',
    'api/bursts',
    'api/hang-ups',
    'api/kept-plans',
    'api/large-log',
    'api/large-neighbour',
    'api/large-results',
    'api/neighbours',
    'api/stalled-readers',
    'unit/server/floods',
    'unit/server/listen',
  ],
  // Inputs and histories: api/bad-input, api/conventions, api/roll, unit/ballots/casting-ways, the model's minute.
  'machine-made inputs': ['api/fuzz', 'api/hostile-orders', 'api/roll-ways', 'model/met'],
  // What is printed and served for people: browser/console, browser/payment-page, browser/voting-page-questions, unit/reference, api/readme.
  'pages, papers, packages and every example of the documents': [
    'api/examples',
    'api/guides',
    'api/one-event',
    'api/organizer-commands',
    'api/samples',
    'api/sdk',
    'api/sdk-package',
    'browser/reference',
    'browser/reference-script',
    'browser/verifier-page',
    'browser/voting-page',
    'unit/letters',
    'unit/reference/built-assets',
    'unit/results/report',
    'unit/results/report-languages',
    'unit/results/report-pages',
  ],
};

export const NIGHT = Object.values(BY_SUBJECT).flatMap((names) => names.map((name) => `test/${name}.test.ts`));
