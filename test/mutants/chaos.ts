import type { Mutant } from './copy-project.ts';

/** The fault that a build cannot bear. */
type Slip = readonly [fault: string, name: string, find: string, replace: string];

const SLIPS: Readonly<Record<string, readonly Slip[]>> = {
  'test/chaos/database.ts': [
    [
      'the server of the database is killed',
      'the database acknowledges before its disk has it',
      'if (isLossy)',
      'if (true)',
    ],
    ['its standby takes over', 'the database acknowledges before its standby has it', 'if (isLossy)', 'if (true)'],
  ],
  'src/http/idempotency.sql': [
    [
      'a process is killed at a step',
      'a key stays claimed by a process that is dead',
      'SELECT NOT is_process_alive(substring(p_claim FROM 1 FOR 16))',
      'SELECT false',
    ],
  ],
  'src/voting-events/key-places.ts': [
    [
      'a folder of keys goes away',
      'a folder is taken for the right one whatever its marker says',
      'if (marker.trim() === clusterId) continue;',
      "if (marker !== 'EACCES') continue;",
    ],
  ],
  'src/service.ts': [
    [
      'a clock jumps',
      'jobs go on while the clock of the machine is wrong',
      'if (deps.config.worker) work.want(drift.isRight);',
      '',
    ],
    [
      'nothing reaches the database',
      'health is well while the database gives no answer',
      "heartbeat.isAway ? 'failed' : await checkDatabase()",
      "heartbeat.isAway ? 'ok' : await checkDatabase()",
    ],
    [
      'a newer release takes over',
      'a process that is replaced does not end',
      'watchDatabase(deps, databaseUrl, work, replaced.resolve)',
      'watchDatabase(deps, databaseUrl, work, () => undefined)',
    ],
  ],
  'src/database/fair-pool.ts': [
    [
      'the database takes no connections',
      'a place for a connection that did not come stays taken',
      'late.finally(() => place.end());',
      'void late;',
    ],
  ],
  'src/http/errors.ts': [
    ['a table is locked', 'a failure does not say when to come again', '      undefined,\n      RETRY_SECONDS,\n', ''],
  ],
  'src/http/request-life.ts': [
    [
      'clients hang up and repeat',
      'places of clients who have gone are kept',
      "outgoing.once('close', close)",
      "outgoing.once('finish', close)",
    ],
  ],
  'src/jobs/run-jobs.ts': [
    [
      'the mail server refuses',
      'a job that failed once is given up',
      '              failed.fault instanceof GivenUp,\n',
      '              true,\n',
    ],
  ],
  'src/webhooks/failing-endpoint.ts': [
    [
      'the receiver of webhooks refuses',
      'a message that was refused once is not sent again',
      'if (planned === undefined) return undefined;',
      'return undefined;',
    ],
  ],
};

/** Builds that a run of chaos with one kind of fault must find amiss. */
export const CHAOS: readonly Mutant[] = Object.entries(SLIPS).flatMap(([file, slips]) =>
  slips.map(([fault, name, find, replace]) => ({ name, file, find, replace, fault })),
);
