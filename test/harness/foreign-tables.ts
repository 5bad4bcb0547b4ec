/**
 * Tables of another room that a room's statements name, by room and by the reason. Everything else is asked of the room that owns
 * the table (`tables.ts` there). `voting_events` is open to all rooms: every statement takes its event as the first argument.
 */
export const FOREIGN_TABLES: Readonly<Record<string, readonly { tables: readonly string[]; reason: string }[]>> = {
  accounts: [{ tables: ['jobs'], reason: 'a mail is counted, and its job marked as counted, in one statement' }],
  'ballot-log': [
    {
      tables: ['jobs'],
      reason: 'the trigger that enqueues the record of a change asks whether one waits already',
    },
    {
      tables: ['ballot_blocks', 'ballot_queue', 'participation'],
      reason:
        'the sequencer moves queued ballots into the box in one transaction, and the check compares box and participants',
    },
    {
      tables: ['pending_ballots'],
      reason: 'a change is recorded before the next one where a ballot may have been cast between',
    },
    {
      tables: ['voters', 'voter_keys'],
      reason: 'the roll is rewritten when its ballots are sealed',
    },
    {
      tables: ['service_checkpoints'],
      reason: 'a key that is adopted signs the heads of all logs again, also of the service’s own',
    },
  ],
  'ballot-definition': [
    {
      tables: ['payment_attempts'],
      reason: 'a position that an open payment is for cannot be deleted, judged under its lock',
    },
    {
      tables: ['ballot_logs'],
      reason: 'the statement that reads a ballot sees in the same trip whether a log may differ from it',
    },
    { tables: ['roll_figures'], reason: 'a group with voters in it cannot be deleted once a ballot was cast' },
  ],
  ballots: [
    {
      tables: ['participation', 'undisclosed_voters', 'voters'],
      reason: 'a confirm parts voter and ballot in one transaction and one trip',
    },
    { tables: ['idempotency_keys'], reason: 'a cast claims its key in the statement of its effect' },
    {
      tables: ['ballot_logs', 'webhook_endpoints'],
      reason: 'a confirm notes in the same trip what is to be sealed and published',
    },
  ],
  cells: [
    {
      tables: [
        ...['accounts', 'api_keys', 'audit_entries', 'ballot_keys', 'event_invites', 'guest_keys', 'jobs'],
        ...['payment_attempts', 'payment_businesses', 'roll_copies', 'webhook_deliveries', 'webhook_endpoints'],
        'webhook_holds',
      ],
      reason: 'a move takes the rows of an account out of every table, in one transaction',
    },
    { tables: ['service_processes'], reason: 'a move waits for every process that lives' },
  ],
  commands: [
    {
      tables: ['accounts', 'arriving_rows', 'moved_accounts'],
      reason: 'the status of a cell says what is in it, and half done',
    },
    {
      tables: ['audit_entries'],
      reason: 'a copied key goes with its event, of which a deletion leaves the trail alone',
    },
    {
      tables: [
        ...['ballot_queue', 'idempotency_keys', 'jobs', 'pending_ballots', 'roll_copies', 'voter_keys'],
        'webhook_endpoints',
      ],
      reason: 'a rotation of the secret key seals every stored secret again',
    },
  ],
  database: [{ tables: ['arriving_rows'], reason: 'what no cell has may be between two of them' }],
  credits: [
    { tables: ['pending_ballots'], reason: 'a balance and what waiting ballots hold of it change under one lock' },
    { tables: ['payment_attempts'], reason: 'the ballot of a payment holds its credits from the first call on' },
    { tables: ['positions'], reason: 'a void ballot gives back what it spent on each position of its event' },
  ],
  payments: [{ tables: ['jobs'], reason: 'a refund that no job will ask for is known by the keys of the jobs' }],
  results: [
    {
      tables: [...['ballot_blocks', 'ballot_logs', 'ballot_queue', 'pending_ballots'], 'voided_ballots'],
      reason:
        'a count is one snapshot of log, box and queue: several statements could see a ballot twice or not at all',
    },
    {
      tables: ['roll_figures', 'undisclosed_voters', 'voters', 'groups', 'positions'],
      reason: 'statistics join roll, participants and ballot definition in one snapshot',
    },
  ],
  voters: [
    {
      tables: [
        'ballot_blocks',
        'ballot_logs',
        'ballot_queue',
        'pending_ballots',
        'public_snapshots',
        'waiting_participants',
      ],
      reason: 'a voter with a waiting or undisclosed ballot is judged under the lock of the roll',
    },
    { tables: ['positions'], reason: 'who voted is disclosed apart for groups with positions of their own' },
  ],
  'voting-events': [
    {
      tables: ['audit_entries'],
      reason: 'an erased voter leaves the audit trail, too',
    },
    { tables: ['accounts'], reason: 'access and its plan are read in one trip' },
    { tables: ['guest_keys'], reason: 'the name of a guest from another cell, and what a guest left in a rehearsal' },
    { tables: ['service_identity'], reason: 'the folders of keys bear the identity of the cluster' },
    {
      tables: [
        'ballot_blocks',
        'ballot_queue',
        'candidates',
        'credit_balances',
        'payment_attempts',
        'payment_businesses',
        'pending_ballots',
        'positions',
      ],
      reason: 'the life of an event is judged by what it has come to hold, in the transaction of the change',
    },
    {
      tables: [
        'api_keys',
        'ballot_logs',
        'idempotency_keys',
        'letter_runs',
        'log_checkpoints',
        'notifications',
        'roll_copies',
        'roll_figures',
        'voter_keys',
      ],
      reason:
        'the end of a rehearsal wipes what came about in it, in one function that runs with the rights of the owner',
    },
    { tables: ['undisclosed_voters', 'voters'], reason: 'the same, and what a listed event says of its disclosure' },
  ],
  webhooks: [{ tables: ['accounts'], reason: 'the contact address of the owner of a failing endpoint' }],
};
