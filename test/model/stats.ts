/** Statistics of an event. */
import { type Context, type Expected, ok } from './answer.ts';
import { disclosureBody, isMarked, type Shown, stepped } from './disclosure.ts';
import * as kit from './kit.ts';
import { at, type Json } from './kit.ts';
import type { Model } from './model.ts';
import { type Event, metInPoll, shownStatus, statusOf } from './state.ts';

/** Statistics may be 5 s old: figures are compared when nothing was changed for that long. */
const STATS_AGE_MS = 5000;
export function stats(model: Model, { event, now }: Context): Expected[] {
  const fresh = now - model.changedAt > STATS_AGE_MS;
  const step = stepped(event, now, (shown) => ({
    votingEventId: event.id,
    ...(fresh ? freshStats(event, now, shown) : { status: kit.STRING, voters: { total: kit.INTEGER } }),
  }));
  return [ok(200, step.body, (answer) => step.learn(at(answer, 'data')))];
}
function freshStats(event: Event, now: number, shown: Shown): Json {
  const roll = event.voters;
  const of = (status: string) => {
    const real = roll.filter((one) => one.status === status).length;
    const told = roll.map((one) => shownStatus(one, isMarked(one, shown)));
    const sure = told.filter((one) => one === status).length;
    const open = told.filter((one) => one instanceof kit.Match && one.test(status)).length;
    return new kit.Match(`${real} or ${sure} to ${sure + open}`, (got) => {
      const value = kit.number(got);
      return value === real || (value >= sure && value <= sure + open);
    });
  };
  const counted = event.ballots.filter((one) => !one.voided && !one.voidedLate);
  // What is voided after it was final stays in its figures.
  const atClose = event.ballots.filter((one) => !one.voided).length;
  const polled = roll.some((one) => metInPoll(event, one)) || event.looseRoll === true;
  return {
    status: event.rehearsal === null ? statusOf(event, now) : kit.oneOf('rehearsal', statusOf(event, now)),
    voters: polled
      ? { total: kit.INTEGER }
      : {
          total: roll.length,
          pending: of('pending'),
          approved: of('approved'),
          rejected: of('rejected'),
          voted: event.repeatVotes
            ? kit.INTEGER
            : kit.oneOf(event.ballots.length, shown.ballots.length, counted.length),
        },
    ballots: { cast: kit.INTEGER, confirmed: kit.oneOf(counted.length, atClose, event.ballots.length) },
    positions: event.positions.length,
    candidates: {
      total: event.candidates.length,
      pending: event.candidates.filter((one) => one.status === 'pending').length,
      approved: event.candidates.filter((one) => one.status === 'approved').length,
      rejected: event.candidates.filter((one) => one.status === 'rejected').length,
    },
    groups: event.groups.length,
    sponsors: event.sponsors.length,
    payments: {
      attempts: event.attempts.length,
      fulfilled: event.attempts.some((one) => one.paid && one.fulfilled === undefined)
        ? kit.INTEGER
        : event.attempts.filter((one) => one.fulfilled !== undefined).length,
    },
    byPosition: kit.ANY,
    byGroup: kit.ANY,
    disclosure: disclosureBody(event, now, shown),
  };
}
