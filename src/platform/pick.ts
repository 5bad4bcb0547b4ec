export function pick<Row extends object, Name extends keyof Row>(row: Row, names: readonly Name[]): Pick<Row, Name> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Name>;
}

export const namesOf = <Shape extends object>(shape: Shape) => Object.keys(shape) as (keyof Shape)[];
