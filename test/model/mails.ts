/** At most 5 mails an hour and 20 a day for one address, whatever causes them; more requests are answered alike and send nothing. */
import type { Model } from './model.ts';
import { type Event, emailKey, HOUR, type Voter } from './state.ts';

export interface SentMail {
  readonly voter: Voter;
  readonly at: number;
  /** False: whether it was sent, or counts, is left open. */
  readonly sure: boolean;
}

/** Mails beside those with a key (the confirmation of a registered address, the notice of a change) count for the limit too. */
export function noteMail(model: Model, voter: Voter, to: string, at: number, sure: boolean): void {
  const key = emailKey(to);
  model.sentTo.set(key, [...(model.sentTo.get(key) ?? []), { voter, at, sure }]);
}

/** Whether another mail to a voter is sent: `open` where the contract doesn't say what counts. */
export function mailChance(model: Model, voter: Voter, now: number): 'yes' | 'no' | 'open' {
  const sent = model.sentTo.get(emailKey(voter.email ?? '')) ?? [];
  // With a new address: whether the mails to the old one count for the voter is left open.
  const elsewhere = [...model.sentTo.values()].flat().filter((one) => one.voter === voter && !sent.includes(one));
  const full = (mails: readonly SentMail[]) => {
    const within = (ms: number) => mails.filter((one) => one.at > now - ms).length;
    return within(HOUR) >= 5 || within(24 * HOUR) >= 20;
  };
  if (full(sent.filter((one) => one.sure && one.voter === voter))) return 'no';
  return full([...sent, ...elsewhere]) ? 'open' : 'yes';
}

/** Somebody asks for a mail with a key: what is sent, if anything. @param plain whether the contract says what stands in it */
export function expectKeyMail(model: Model, event: Event, voter: Voter, now: number, withKey: boolean, plain: boolean) {
  const chance = voter.email === null ? 'no' : mailChance(model, voter, now);
  if (voter.email === null || chance === 'no') return;
  const sure = plain && chance === 'yes';
  noteMail(model, voter, voter.email, now, sure);
  model.mails.push({ event, voter, to: voter.email, withKey, sure });
}
