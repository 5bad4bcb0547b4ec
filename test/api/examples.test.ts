import { describe, expect, test, vi } from 'vitest';
import { RequestLife } from '#src/http/request-life.ts';
import { usePaidService } from '#test/harness/payments.ts';
import { LEFT_OUT, listExamples, sendExample } from '#test/harness/send-examples.ts';

const { service } = await usePaidService();
const examples = await listExamples(service);

describe('the examples of the API document', () => {
  test('all work as they are printed, once what they name exists, in a place of their account', async () => {
    const [refused, unbounded]: [string[], string[]] = [[], []];
    const begun = vi.spyOn(RequestLife.prototype, 'begin');
    const call = service.call.bind(service);
    // An example is the last request of its world.
    vi.spyOn(service, 'call').mockImplementation((...sent) => {
      begun.mockClear();
      return call(...sent);
    });
    for (const example of examples.filter(({ name }) => !LEFT_OUT.has(name))) {
      const { target, answer } = await sendExample(service, examples, example);
      // Organizers' changes have places of their own.
      const { scope, unlimited } = example.route;
      if (scope !== 'write' && unlimited !== true && begun.mock.calls.length === 0) unbounded.push(example.name);
      const asked = example.kind !== '' && answer.status === 402 && example.kind !== 'FinishPaymentInput';
      if (answer.status >= 400 && !asked)
        refused.push(`${example.name} ${target}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    expect(refused).toEqual([]);
    // An account, or an address without a key, has only so many of each at work.
    expect(unbounded).toEqual([]);
  });
});
