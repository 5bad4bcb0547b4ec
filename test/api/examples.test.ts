import { describe, expect, test } from 'vitest';
import { usePaidService } from '#test/harness/payments.ts';
import { LEFT_OUT, listExamples, sendExample } from '#test/harness/send-examples.ts';

const { service } = await usePaidService();
const examples = await listExamples(service);

describe('the examples of the API document', () => {
  test('all work as they are printed, once what they name exists', async () => {
    const refused: string[] = [];
    for (const example of examples.filter(({ name }) => !LEFT_OUT.has(name))) {
      const { target, answer } = await sendExample(service, examples, example);
      const asked = example.kind !== '' && answer.status === 402 && example.kind !== 'FinishPaymentInput';
      if (answer.status >= 400 && !asked)
        refused.push(`${example.name} ${target}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    expect(refused).toEqual([]);
  });
});
