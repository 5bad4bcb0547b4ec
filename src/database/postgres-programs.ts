import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { conflict } from '#src/platform/errors.ts';

/** Folders to search for PostgreSQL programs: the configured folder, then those of PATH, then those of Debian's packages. */
export interface ProgramFolders {
  /** PG_BIN; searched first. */
  readonly named: string | undefined;
  readonly path: readonly string[];
}

const DEBIAN = '/usr/lib/postgresql';

/** The major version that a program prints with `--version`; undefined if it does not exist or run. */
function majorOf(program: string): number | undefined {
  if (!existsSync(program)) return undefined;
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', env: { LC_ALL: 'C' } });
  const major = Number(/\(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1]);
  return Number.isInteger(major) ? major : undefined;
}

export type Programs = ReturnType<typeof findPrograms>;

/**
 * Finds the folder that holds all of these programs in the server's major version, or in the lowest newer version.
 * @param major the server's major version
 * @param newer whether a newer version is acceptable
 * @throws ApiError 409 `programs_missing`, with what to install
 */
export function findPrograms(folders: ProgramFolders, names: readonly string[], major: number, newer: boolean) {
  const [first = ''] = names;
  const named = folders.named === undefined ? [] : [folders.named];
  const debian = existsSync(DEBIAN) ? readdirSync(DEBIAN).map((version) => path.join(DEBIAN, version, 'bin')) : [];
  const fitting = [...new Set([...named, ...folders.path, ...debian])].flatMap((folder) => {
    const own = majorOf(path.join(folder, first));
    const fits = own !== undefined && (newer ? own >= major : own === major);
    return fits && names.every((name) => existsSync(path.join(folder, name))) ? [{ folder, major: own }] : [];
  });
  const [best] = fitting.toSorted((left, right) => left.major - right.major);
  if (best !== undefined) return best;
  throw conflict(
    'programs_missing',
    `${names.join(', ')} of PostgreSQL ${major}${newer ? ' or newer' : ''} are not on this machine. Install them (Debian: postgresql${newer ? '-client' : ''}-${major}), or set PG_BIN to their folder.`,
  );
}
