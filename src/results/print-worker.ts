import { parentPort } from 'node:worker_threads';
import type { PaperSize } from './download-link.ts';
import type { ReportInput } from './report/report-input.ts';
import { writeReport } from './report/write-report.ts';

/** What the worker thread is sent, one at a time; it answers with the bytes of the PDF. */
export interface PrintOrder {
  readonly input: ReportInput;
  readonly size: PaperSize;
}

parentPort?.on('message', async ({ input, size }: PrintOrder) => {
  const bytes = await writeReport(input, size);
  parentPort?.postMessage(bytes, [bytes.buffer]);
});
