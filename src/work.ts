import { mailAccountJob } from '#src/accounts/mail-account.ts';
import { forgetMailQuotas } from '#src/accounts/take-mail.ts';
import { removeDeletedRowsJob } from '#src/ballot-definition/delete-rows.ts';
import { withdrawPaidCandidateJob } from '#src/ballot-definition/register-candidate.ts';
import { checkLogs } from '#src/ballot-log/check-log.ts';
import { noteForgedRowsJob } from '#src/ballot-log/restore-end.ts';
import { removeDeadRowsJob } from '#src/ballot-log/rewrite-roll.ts';
import { type SealDeps, sequenceLogJob, sequenceLogs } from '#src/ballot-log/seal-ballots.ts';
import { dropAllExpiredBallots } from '#src/ballots/drop-expired-ballots.ts';
import { readNow } from '#src/database/database-clock.ts';
import { MAIN_CELL } from '#src/database/other-cells.ts';
import { deleteExpiredKeys } from '#src/http/idempotency.ts';
import { forgetFullQuotas } from '#src/http/rate-limit.ts';
import type { AnyJob, RecurringJob } from '#src/jobs/queue.ts';
import { dropOldLetters } from '#src/letters/letter-run.ts';
import { printLettersJob } from '#src/letters/print-letters.ts';
import { checkBusinessJob, checkUnreadyBusinesses } from '#src/payments/check-business.ts';
import { raiseAged } from '#src/payments/manage-payment.ts';
import { forgetProviderEvents, processProviderEventJob } from '#src/payments/receive-provider-event.ts';
import { reconcilePayments } from '#src/payments/reconcile-payments.ts';
import { giveEventBackJob, refundPaymentJob, sweepRefunds } from '#src/payments/refund-payment.ts';
import { sweepPayments } from '#src/payments/sweep-payments.ts';
import { HOUR_MS } from '#src/platform/clock.ts';
import { askWitnesses, askWitnessesJob } from '#src/service-log/ask-witnesses.ts';
import { sequenceServiceLog } from '#src/service-log/sequence-service-log.ts';
import { leaveDeletedGroups } from '#src/voters/change-in-pages.ts';
import { copyRollJob } from '#src/voters/copy-event.ts';
import { eraseParticipantsJob, removeDeletedVotersJob } from '#src/voters/delete-voter.ts';
import { publishApprovedJob } from '#src/voters/disclose-voters.ts';
import { expireRegistrations } from '#src/voters/expire-registrations.ts';
import { mailRegistrationJob } from '#src/voters/mail-registration.ts';
import { listNotifiedVotersJob, mailNotifiedVoterJob } from '#src/voters/notify-voters.ts';
import { foldRolls } from '#src/voters/roll-sum.ts';
import { sendVoterKeyJob } from '#src/voters/send-voter-key.ts';
import { mailOldAddressJob } from '#src/voters/update-voter.ts';
import { sendInviteJob } from '#src/voting-events/change-invites.ts';
import { removeDeletedEventJob } from '#src/voting-events/delete-event.ts';
import { mailClosingJob, mailNotOpenedJob } from '#src/voting-events/mail-owner.ts';
import {
  publishClosingJob,
  publishStatusJob,
  publishTimedEvents,
  renewReadinessJob,
} from '#src/voting-events/publish-status.ts';
import { publishAllBallots } from '#src/webhooks/publish-ballots.ts';
import { forgetDeliveries } from '#src/webhooks/sending-repository.ts';
import type { Deps } from './deps.ts';
import { paymentDeps } from './fulfilments.ts';
import { foldAllRollFigures } from './results/read-stats.ts';
import { forgetOldImports } from './voters/import-roll.ts';

export function sealDeps(deps: Deps): SealDeps {
  return {
    ...deps,
    disclose: (eventId) => deps.counting.disclosure.stepToEnd(eventId),
    async countFinally(definition, roll) {
      return deps.counting.finalCount(definition, await readNow(deps.db), roll);
    },
  };
}

export function allJobs(deps: Deps): AnyJob[] {
  const payments = paymentDeps(deps);
  const mails = { ...deps, db: deps.jobDatabases.mails };
  const deletions = deps.jobDatabases.deletions;
  return [
    removeDeletedEventJob(deletions),
    removeDeletedRowsJob(deletions, (db, eventId) => leaveDeletedGroups(db, deps, eventId)),
    removeDeletedVotersJob(deletions),
    eraseParticipantsJob(deletions, deps.secrets),
    sendVoterKeyJob(mails),
    copyRollJob(deps),
    noteForgedRowsJob(deps),
    listNotifiedVotersJob(deps.db),
    mailNotifiedVoterJob(mails),
    printLettersJob(deps),
    mailRegistrationJob(mails),
    mailOldAddressJob(mails),
    sendInviteJob(mails),
    mailAccountJob(mails),
    sequenceLogJob(sealDeps(deps)),
    removeDeadRowsJob({ db: deletions, log: deps.log }),
    askWitnessesJob(deps),
    processProviderEventJob(payments),
    refundPaymentJob(payments),
    giveEventBackJob(payments),
    withdrawPaidCandidateJob(deps),
    checkBusinessJob(payments),
    publishStatusJob(deps),
    renewReadinessJob(deps),
    publishClosingJob(deps),
    mailClosingJob(mails),
    mailNotOpenedJob(mails),
    publishApprovedJob(deps),
  ];
}

/** Jobs of the service's own log, which is in the main cell. */
const ofServiceLog = (deps: Deps): RecurringJob[] => [
  { name: 'sequence_service_log', schedule: '* * * * *', work: () => sequenceServiceLog(deps) },
  { name: 'ask_witnesses_again', schedule: '* * * * *', work: () => askWitnesses(deps) },
];

export function recurringJobs(deps: Deps): RecurringJob[] {
  const payments = paymentDeps(deps);
  const tendKeys = () => deps.ballotKeys.destroyRetired().then(() => deps.ballotKeys.destroyLeft());
  const checkChangedLogs = async () => checkLogs(deps, (await readNow(deps.db)) - 2 * HOUR_MS);
  const tendRefunds = () => sweepRefunds(payments).then(() => raiseAged(payments));
  const forgetSent = async () => forgetDeliveries(deps.db, await readNow(deps.db));
  const ofPayments: readonly RecurringJob[] = [
    { name: 'reconcile_payments', schedule: '* * * * *', work: () => reconcilePayments(payments) },
    { name: 'sweep_refunds', schedule: '*/10 * * * *', work: tendRefunds },
    { name: 'check_unready_businesses', schedule: '*/10 * * * *', work: () => checkUnreadyBusinesses(payments) },
    { name: 'sweep_payments', schedule: '17 4 * * *', work: () => sweepPayments(payments) },
  ];
  return [
    ...ofPayments.map((job) => ({ ...job, group: 'payments' as const })),
    { name: 'tend_ballot_logs', schedule: '* * * * *', work: () => sequenceLogs(sealDeps(deps)) },
    { name: 'tend_ballot_keys', schedule: '* * * * *', work: tendKeys },
    ...(deps.cell === MAIN_CELL ? ofServiceLog(deps) : []),
    { name: 'check_changed_logs', schedule: '23 * * * *', work: checkChangedLogs },
    { name: 'check_all_logs', schedule: '37 2 * * *', work: () => checkLogs(deps, 0) },
    { name: 'disclose_voters', schedule: '* * * * *', work: () => deps.counting.disclosure.stepAll() },
    { name: 'drop_expired_ballots', schedule: '* * * * *', work: () => dropAllExpiredBallots(deps) },
    { name: 'forget_full_quotas', schedule: '*/10 * * * *', work: () => forgetFullQuotas(deps.db) },
    { name: 'forget_mail_quotas', schedule: '47 * * * *', work: () => forgetMailQuotas(deps.db) },
    { name: 'drop_old_letters', schedule: '*/10 * * * *', work: () => dropOldLetters(deps.db) },
    { name: 'forget_roll_imports', schedule: '53 * * * *', work: () => forgetOldImports(deps.db) },
    { name: 'fold_roll_sums', schedule: '* * * * *', work: () => foldRolls(deps) },
    { name: 'fold_roll_figures', schedule: '* * * * *', work: () => foldAllRollFigures(deps.db) },
    { name: 'expire_registrations', schedule: '*/10 * * * *', work: () => expireRegistrations(deps) },
    { name: 'forget_provider_events', schedule: '43 3 * * *', work: () => forgetProviderEvents(payments) },
    { name: 'announce_left_ballots', schedule: '* * * * *', work: () => publishAllBallots(deps.db) },
    { name: 'announce_timed_events', schedule: '* * * * *', work: () => publishTimedEvents(deps) },
    { name: 'forget_webhook_deliveries', schedule: '23 * * * *', work: forgetSent },
    { name: 'delete_expired_idempotency_keys', schedule: '* * * * *', work: () => deleteExpiredKeys(deps.db) },
  ];
}
