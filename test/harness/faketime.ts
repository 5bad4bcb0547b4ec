import { existsSync, renameSync, writeFileSync } from 'node:fs';

const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';

/** Whether clocks can be set here; where REQUIRE_FAKETIME is set these tests run, and fail where they cannot. */
export const hasFaketime = existsSync(LIBRARY) || process.env['REQUIRE_FAKETIME'] !== undefined;

export type FakeClock = ReturnType<typeof createFakeClock>;

/** A clock at the true time. @param file where its offset stands */
export function createFakeClock(file: string) {
  /** Sets the clock of the processes that have it, and of no other: as `+30m` or `-4s` from the true time. */
  const step = (offset: string): void => {
    // Replaced whole: the library reads it at every look at the clock.
    writeFileSync(`${file}.new`, `${offset}\n`, { mode: 0o644 });
    renameSync(`${file}.new`, file);
  };
  step('+0s');
  return {
    /** What a process gets of variables whose clock this is. */
    environment: {
      ...{ LD_PRELOAD: LIBRARY, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1' },
      ...{ DONT_FAKE_MONOTONIC: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' },
    },
    step,
  };
}
