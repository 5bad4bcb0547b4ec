import { describe, expect, test } from 'vitest';
import { demand, fieldOf } from '#test/harness/answers.ts';
import type { TestEvent } from '#test/harness/elections.ts';
import { voterKeyIn } from '#test/harness/mails.ts';
import { connectTestBusiness, usePaidService } from '#test/harness/payments.ts';
import { type ReadMail, readMails } from '#test/harness/read-mail.ts';
import { invite } from '#test/harness/sharing.ts';
import { eventually } from '#test/harness/test-service.ts';

const { service } = await usePaidService();
const account = await service.account();
const { of } = account;

const create = (settings: object = {}): Promise<TestEvent> => account.event({ type: 'election', ...settings });

const mailTo = (address: string): Promise<ReadMail> =>
  eventually(() => readMails(service).find(({ to }) => to === address));

/** Adds a voter and has the key mailed. */
async function mailKey(event: TestEvent, voter: { readonly email: string } & Record<string, unknown>) {
  const { id } = await of(event).make('/voters', { name: 'Vera <b>Ok</b>', ...voter });
  demand(await of(event).post(`/voters/${id}/voter-key`), 202);
  return mailTo(voter.email);
}

describe('the fields for mails', () => {
  test('are null and "en" unless they are set, are shown as they were sent, and taken back as they are shown', async () => {
    const plain = await account.make('/voting-events', { title: 'Plain', type: 'election' });
    expect(plain).toMatchObject({ votingPageUrl: null, contactEmail: null, language: 'en', logoUrl: null });
    const fields = {
      votingPageUrl: 'https://vote.club.example/here#k={voterKey}&v={voterId}&e={email}',
      contactEmail: 'Board@Club.example',
      language: 'fr',
      logoUrl: 'https://club.example/logo.png',
    };
    const made = await account.make('/voting-events', { title: 'Made', type: 'poll', ...fields });
    expect(made).toMatchObject(fields);
    const again = await of(made).change('', fields);
    expect(again.updatedAt).toBe(made.updatedAt);
    const none = { votingPageUrl: null, contactEmail: null, logoUrl: null };
    expect(await of(made).change('', none)).toMatchObject({ ...none, language: 'fr' });
  });

  test.each([
    ['votingPageUrl', 'https://vote.club.example/?k={voterKey}'],
    ['votingPageUrl', 'https://vote.club.example/{voterKey}#x'],
    ['votingPageUrl', 'https://vote.club.example/#{name}'],
    ['votingPageUrl', 'https://vote.club.example/#{voterKey'],
    ['votingPageUrl', 'http://vote.club.example/#{voterKey}'],
    ['votingPageUrl', 'http://localhost:3000/'],
    ['votingPageUrl', 'javascript:alert(1)'],
    ['votingPageUrl', 'https://user:secret@vote.club.example/'],
    ['votingPageUrl', 'https://10.0.0.1/'],
    ['votingPageUrl', `https://vote.club.example/${'x'.repeat(2_048)}`],
    ['votingPageUrl', ''],
    ['contactEmail', 'not an address'],
    ['contactEmail', 'Vera <vera@club.example>'],
    ['language', 'xx'],
    ['language', null],
    ['logoUrl', 'http://localhost/logo.png'],
    ['logoUrl', 'data:image/png;base64,AAAA'],
  ])('refuse %s %j, in a creation and in a change', async (field, value) => {
    const { id } = await account.make('/voting-events', { title: 'Kept', type: 'election' });
    for (const answer of [
      await account.post('/voting-events', { title: 'Refused', type: 'election', [field]: value }),
      await of({ id }).patch('', { title: 'Changed', [field]: value }),
    ])
      expect(fieldOf(answer)).toEqual([422, field]);
    expect((await of({ id }).show('')).title).toBe('Kept');
  });

  test('may be changed after the close, and lead to the own machine only where money is play money', async () => {
    const event = await create({ endsAt: Date.now() - 3_600_000 });
    await of(event).change('', { contactEmail: 'board@club.example' });
    const poll = await account.event();
    const page = { votingPageUrl: 'http://localhost:3000/vote#{voterKey}' };
    expect((await of(poll).patch('', page)).status).toBe(422);
    const business = await connectTestBusiness(service, account, 'provider_a');
    demand(await of(poll).put('/payment-business', { paymentBusinessId: business.id }), 200);
    expect(await of(poll).change('', page)).toMatchObject(page);
  });
});

describe('a mail with a voter key', () => {
  test('carries the link with key, voter ID and address in its fragment, title, close and contact, as text and as HTML', async () => {
    const event = await create({
      title: 'Board & "friends" <2027>',
      endsAt: Date.UTC(2030, 0, 15, 11, 30),
      timeZone: 'Europe/Berlin',
      votingPageUrl: 'https://vote.club.example/p?a=1&b=2#k={voterKey}&v={voterId}&e={email}',
      contactEmail: 'board@club.example',
      logoUrl: 'https://club.example/logo.png?a=1&b=2',
    });
    const mail = await mailKey(event, { email: "vera+o'x@club.example", voterId: 'M 10&42' });
    const key = voterKeyIn(mail.text) ?? 'no key';
    const link = `https://vote.club.example/p?a=1&b=2#k=${key}&v=M%2010%2642&e=vera%2Bo'x%40club.example`;
    expect(mail.subject).toBe('Your voter key for "Board & "friends" <2027>"');
    for (const words of [link, 'Board & "friends" <2027>', 'Hello Vera <b>Ok</b>,', 'board@club.example'])
      expect(mail.text).toContain(words);
    expect(mail.text).toMatch(/Voting ends on Tuesday,? January 15, 2030 at 12:30\sPM GMT\+1\./);
    expect(mail.html).toContain(`href="${link.replaceAll('&', '&amp;').replaceAll("'", '&#39;')}"`);
    expect(mail.html).toContain('Board &amp; &quot;friends&quot; &lt;2027&gt;');
    expect(mail.html).toContain('src="https://club.example/logo.png?a=1&amp;b=2"');
    expect(mail.html).toContain(key);
    expect(mail.html).not.toContain('<b>');
    expect(mail.html).toMatch(/^<!doctype html>\n<html lang="en">/);
  });

  test.each([
    ['de', 'Ihr Wahlschlüssel für', 'Die Abstimmung endet am Dienstag, 15. Januar 2030'],
    ['es', 'Su clave de voto para', 'La votación termina el martes, 15 de enero de 2030'],
    ['fr', 'Votre clé de vote pour', 'Le vote se termine le mardi 15 janvier 2030'],
  ])('is written in %s where the event says so', async (language, subject, close) => {
    const event = await create({ language, endsAt: Date.UTC(2030, 0, 15, 11, 30) });
    const mail = await mailKey(event, { email: `vera@${language}.example` });
    expect(mail.subject).toContain(subject);
    expect(mail.text).toContain(close);
    expect(mail.html).toContain(`<html lang="${language}">`);
    expect(mail.text).toMatch(/^ {4}[0-9A-Z]{4}(-[0-9A-Z]{4}){3}$/m);
  });

  test('holds nothing of a stranger in its link', async () => {
    const event = await create({
      voter: { selfRegistration: true, requireVoterId: true },
      votingPageUrl: 'https://vote.club.example/#v={voterId}&k={voterKey}',
    });
    const who = { email: 'stranger@spam.example', voterId: 'WIN-AT-spam.example' };
    demand(await account.page(event, 'register/voter', { name: 'Sam', ...who }), 201);
    demand(await account.page(event, 'voter-key/request', who), 200);
    const mail = await eventually(() =>
      readMails(service).find(({ to, text }) => to === who.email && voterKeyIn(text) !== undefined),
    );
    expect(mail.text).toContain('https://vote.club.example/#v=&k=');
    expect(`${mail.text}${mail.html}`).not.toContain('spam.example/');
    expect(`${mail.text}${mail.html}`).not.toContain('WIN-AT');
  });
});

test.each(['+01:00', '-01:00', '\u221201:00'])('an offset is no time zone: %s', async (timeZone) => {
  expect((await account.post('/voting-events', { title: 'Z', type: 'poll', timeZone })).status).toBe(422);
});

test('every other mail of an event is in its language, too', async () => {
  const event = await create({
    language: 'de',
    contactEmail: 'vorstand@club.example',
    voter: { selfRegistration: true },
  });
  await invite(service, account, event, 'greta@other.example', 'viewer');
  const invited = await mailTo('greta@other.example');
  expect(invited.subject).toMatch(/^Sie sind zu .* eingeladen$/);
  expect(invited.text).toContain('vorstand@club.example');
  expect(invited.html).toMatch(/vit_[0-9a-z]{32}/);
  demand(await account.page(event, 'register/voter', { name: 'Reg', email: 'reg@other.example' }), 201);
  const registered = await mailTo('reg@other.example');
  expect(registered.subject).toMatch(/^Ihre Anmeldung/);
  expect(registered.html).toMatch(/href="[^"]+\/confirm-address\//);
  const { id } = await of(event).make('/voters', { name: 'Old', email: 'old@other.example' });
  await of(event).change(`/voters/${id}`, { email: 'new@other.example' });
  expect((await mailTo('old@other.example')).subject).toMatch(/^Ihre Adresse/);
  const late = await account.event({ language: 'de', contactEmail: 'late@other.example' }, [], false);
  await of(late).change('', { startsAt: Date.now() - 1 });
  expect((await mailTo('late@other.example')).subject).toMatch(/wurde nicht eröffnet$/);
  await account.event({ language: 'fr', contactEmail: 'closing@other.example', endsAt: Date.now() + 3_600_000 });
  expect((await mailTo('closing@other.example')).subject).toMatch(/va bientôt se terminer$/);
});
