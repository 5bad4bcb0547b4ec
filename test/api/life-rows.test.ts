import { expect, test } from 'vitest';
import { LIFE, PHASES } from '#src/voting-events/life.ts';
import { demand, finishEvent, type PositionPlan, type TestEvent, visitor, votesFor } from '#test/harness/elections.ts';
import { type TestAnswer, useService } from '#test/harness/test-service.ts';

const service = await useService();
const account = await service.account();

const PLURALITY: readonly PositionPlan[] = [{ votingMethod: 'plurality', candidates: ['Ada', 'Bea'] }];
const DAY_MS = 86_400_000;
type Phase = (typeof PHASES)[number];

const change = async (event: TestEvent, body: object): Promise<void> => {
  demand(await account.patch(`/voting-events/${event.id}`, body), 200);
};
const say = (event: TestEvent, what: string, body: object): Promise<TestAnswer> => account.page(event, what, body);
const cast = (event: TestEvent): Promise<TestAnswer> => {
  const votes = votesFor(event);
  return say(event, 'ballot/cast', { visitorId: visitor(), votes });
};

/** An event in a phase, and the code of a ballot that waits in it; there is none where no ballot was ever taken. */
async function createIn(phase: Phase, type: string): Promise<{ readonly event: TestEvent; readonly code: string }> {
  const settings = {
    type,
    voter: type === 'election' ? { selfRegistration: true } : {},
    candidate: { selfRegistration: true },
  };
  const event = await account.event(settings, PLURALITY, false);
  if (phase === 'rehearsal') await change(event, { status: 'rehearsal' });
  if (['scheduled', 'open', 'confirming', 'final'].includes(phase)) await change(event, { status: 'open' });
  const takesBallots = type === 'poll' && phase !== 'draft';
  const code = takesBallots ? demand(await cast(event), 201).confirmationCode : 'none';
  // No request leads back while a ballot waits: the rule is asked all the same.
  if (phase === 'scheduled')
    await service.query(
      `UPDATE voting_events SET opened_at = NULL, starts_at = now_ms() + $2, paper_version = paper_version + 1 WHERE id = $1`,
      [event.id, DAY_MS],
    );
  if (phase === 'confirming') await change(event, { status: 'closed' });
  if (phase === 'final') await finishEvent(service, event.id);
  service.deps.events.forget(event.id);
  return { event, code };
}

/** What the table calls an answer. */
const wordOf = ({ status, body }: TestAnswer): string => {
  if (status < 300) return 'yes';
  return status === 404 ? 'not_visible' : String(body.error.details?.reason);
};

test.each(PHASES)(
  'casts, confirms and registrations are answered in the phase `%s` as the table says',
  async (phase) => {
    const poll = await createIn(phase, 'poll');
    const election = await createIn(phase, 'election');
    const registration = { name: 'Cleo', email: `cleo@${election.event.code.toLowerCase()}.example` };
    const candidate = { name: 'Cleo', positionIds: [poll.event.positions[0]?.id] };
    const answers = {
      confirm: await say(poll.event, 'ballot/confirm', { confirmationCode: poll.code }),
      cast: await cast(poll.event),
      register_voter: await say(election.event, 'register/voter', registration),
      register_candidate: await say(poll.event, 'register/candidate', candidate),
    };
    const words = Object.entries(answers).map(([action, answer]) => [action, wordOf(answer)]);
    const table = (Object.keys(answers) as (keyof typeof answers)[]).map((action) => [action, LIFE[action][phase]]);
    expect(words).toEqual(table);
  },
);
