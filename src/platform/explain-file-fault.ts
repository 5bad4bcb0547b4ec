const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'it lies on a disk that can only be read',
  ENOSPC: 'the disk is full',
  EDQUOT: 'this user has no room left there',
  ENOENT: 'its folder is not there',
  ENOTDIR: 'a part of its path is no folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it is there already',
};

/** `/data/x cannot be used: the disk is full (ENOSPC)`; undefined for a fault that is not a file's. */
export function explainFileFault(fault: unknown): string | undefined {
  if (!(fault instanceof Error)) return undefined;
  const [code, file]: readonly unknown[] = [Reflect.get(fault, 'code'), Reflect.get(fault, 'path')];
  if (typeof code !== 'string' || typeof file !== 'string') return undefined;
  const reason = REASONS[code];
  return reason === undefined ? undefined : `${file} cannot be used: ${reason} (${code})`;
}
